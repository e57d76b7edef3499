-- one row per search_id of this log that is ambiguous, as it is read
SELECT DISTINCT s.search_id
FROM searches_log AS s
SEMI JOIN ambiguous_ids AS a ON id_fingerprint(s.search_id) = a.search_fp
