-- one row per search and per click in time, equal clicks once: the visit that it is an event of
SELECT
    user_fp,
    CASE WHEN $per_query THEN query_fp ELSE 0 END AS query_fp,
    visit,
    is_open,
    time_ms,
    row_nr AS search_nr,
    FALSE AS is_click,
    CAST(0 AS BIGINT) AS url_fp
FROM visits
UNION
SELECT
    v.user_fp,
    CASE WHEN $per_query THEN v.query_fp ELSE 0 END AS query_fp,
    v.visit,
    v.is_open,
    c.time_ms,
    c.search_nr,
    TRUE AS is_click,
    coalesce(c.url_fp, 0) AS url_fp
FROM attributed_clicks AS c
INNER JOIN visits AS v ON c.search_nr = v.row_nr
WHERE c.in_time
