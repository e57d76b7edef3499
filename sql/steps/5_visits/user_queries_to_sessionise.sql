-- one row per (user, normalised query) whose visits are to be formed: repeated further apart than the idle
-- limit, or active until the batch ends
WITH clicked_late AS (
    SELECT search_nr
    FROM attributed_clicks
    WHERE in_time AND time_ms >= $watermark_ms - $idle_ms
)

SELECT
    user_fp,
    query_fp
FROM repeated_user_queries
WHERE may_span_visits
UNION
SELECT
    user_fp,
    query_fp
FROM searches
WHERE time_ms >= $watermark_ms - $idle_ms
UNION
SELECT
    s.user_fp,
    s.query_fp
FROM searches AS s
SEMI JOIN clicked_late AS c ON s.row_nr = c.search_nr
