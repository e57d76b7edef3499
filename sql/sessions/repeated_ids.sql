-- one row per search_id that more than one usable row has
SELECT search_fp
FROM usable_searches
GROUP BY search_fp
HAVING count(*) > 1
