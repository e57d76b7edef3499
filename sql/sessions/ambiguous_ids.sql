-- one row per search_id that different searches use: their clicks cannot be told apart
SELECT search_fp
FROM resolved_repeats
GROUP BY search_fp
HAVING count(*) > 1
