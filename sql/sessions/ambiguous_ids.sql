-- one row per search_id that different searches use: their clicks cannot be told apart
WITH told_apart AS (
    SELECT DISTINCT
        search_fp,
        user_fp,
        time_ms
    FROM usable_searches
)

SELECT search_fp
FROM told_apart
GROUP BY search_fp
HAVING count(*) > 1
