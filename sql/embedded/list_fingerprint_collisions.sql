-- a fingerprint that the lists of two different queries share: must be none
SELECT list_fp
FROM lists_of_batch
WHERE is_shared
