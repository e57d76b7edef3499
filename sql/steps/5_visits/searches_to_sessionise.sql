-- one row per search of users whose visits are to be formed: the end of its activity
WITH concerned AS (
    SELECT
        s.row_nr,
        s.search_id,
        s.search_fp,
        s.user_fp,
        s.query_fp,
        s.list_fp,
        s.time_ms,
        s.page,
        s.user_id
    FROM searches AS s
    SEMI JOIN user_queries_to_sessionise AS p ON s.user_fp = p.user_fp AND (NOT $per_query OR s.query_fp = p.query_fp)
),

latest AS (
    SELECT
        f.search_nr,
        max(f.time_ms) AS click_ms
    FROM attributed_clicks AS f
    SEMI JOIN concerned AS c ON f.search_nr = c.row_nr
    WHERE f.in_time
    GROUP BY f.search_nr
)

SELECT
    c.row_nr,
    c.search_id,
    c.search_fp,
    c.user_fp,
    c.query_fp,
    c.list_fp,
    c.time_ms,
    c.page,
    c.user_id,
    greatest(c.time_ms, coalesce(l.click_ms, c.time_ms)) AS active_until_ms
FROM concerned AS c
LEFT JOIN latest AS l ON c.row_nr = l.search_nr
