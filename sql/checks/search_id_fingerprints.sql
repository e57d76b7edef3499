-- a fingerprint that two different search ids share: must be none
SELECT search_fp
FROM search_order
GROUP BY search_fp
HAVING count(*) > 1
