-- a fingerprint that the lists of two different queries share: must be none
SELECT list_fp
FROM batch_lists
WHERE is_shared
