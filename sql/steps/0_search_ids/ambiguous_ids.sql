-- one row per search_id that different searches use: a click on it could belong to any of them
WITH distinct_searches AS (
    SELECT DISTINCT
        s.search_fp,
        s.user_fp,
        s.time_ms
    FROM usable_searches AS s
    SEMI JOIN repeated_ids AS r ON s.search_fp = r.search_fp
)

SELECT search_fp
FROM distinct_searches
GROUP BY search_fp
HAVING count(*) > 1
