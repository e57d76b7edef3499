-- a fingerprint that two different queries share: must be none
SELECT query_fp
FROM shown_queries
GROUP BY query_fp
HAVING count(*) > 1
