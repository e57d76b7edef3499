-- a fingerprint that two different search ids share: must be none
SELECT search_fp
FROM search_id_fingerprints
GROUP BY search_fp
HAVING min(search_id) <> max(search_id)
