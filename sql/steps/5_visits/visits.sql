-- one row per search in searches_to_sessionise: its visit, counted from 0 within its scope
WITH named AS (
    SELECT
        s.row_nr,
        s.search_fp,
        s.user_fp,
        s.query_fp,
        s.list_fp,
        s.time_ms,
        s.page,
        s.user_id,
        s.active_until_ms,
        i.search_id
    FROM searches_to_sessionise AS s
    LEFT JOIN tie_breakers AS i ON s.row_nr = i.row_nr
),

earlier AS (
    SELECT
        row_nr,
        search_fp,
        user_fp,
        query_fp,
        list_fp,
        time_ms,
        page,
        user_id,
        active_until_ms,
        search_id,
        max(active_until_ms) OVER (
            PARTITION BY user_fp, CASE WHEN $per_query THEN query_fp END
            ORDER BY time_ms, search_id, search_fp
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS active_before_ms
    FROM named
)

SELECT
    row_nr,
    search_fp,
    user_fp,
    query_fp,
    list_fp,
    time_ms,
    page,
    user_id,
    active_until_ms,
    search_id,
    CAST(sum(CASE WHEN time_ms - active_before_ms > $idle_ms THEN 1 ELSE 0 END) OVER (
        PARTITION BY user_fp, CASE WHEN $per_query THEN query_fp END
        ORDER BY time_ms, search_id, search_fp
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS BIGINT) AS visit
FROM earlier
