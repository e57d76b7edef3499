-- one row per search_id that different searches use: their clicks cannot be told apart
WITH told_apart AS (
    SELECT DISTINCT
        s.search_fp,
        s.user_fp,
        s.time_ms
    FROM usable_searches AS s
    SEMI JOIN repeated_ids AS r ON s.search_fp = r.search_fp
)

SELECT search_fp
FROM told_apart
GROUP BY search_fp
HAVING count(*) > 1
