-- a fingerprint that the lists of two different queries share: must be none
SELECT list_fp
FROM shown_texts
GROUP BY list_fp
HAVING count(*) > 1
