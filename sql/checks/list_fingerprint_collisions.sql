-- a fingerprint that two different lists share: must be none
SELECT list_fp
FROM list_texts
GROUP BY list_fp
HAVING count(*) > 1
