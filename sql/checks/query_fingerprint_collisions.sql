-- a fingerprint that two different queries share: must be none
SELECT query_fp
FROM query_texts
GROUP BY query_fp
HAVING count(*) > 1
