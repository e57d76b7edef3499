-- one row per search_id that was found ambiguous in earlier parts of the log
SELECT id_fingerprint(search_id) AS search_fp
FROM ambiguous_log
