-- one row per search of the whole log: the fingerprint of its search_id
SELECT id_fingerprint(search_id) AS search_fp
FROM searches_log
