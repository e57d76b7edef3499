-- one row per search_id that more than one row of the log has
SELECT search_fp
FROM log_search_ids
WHERE search_fp IS NOT NULL
GROUP BY search_fp
HAVING count(*) > 1
