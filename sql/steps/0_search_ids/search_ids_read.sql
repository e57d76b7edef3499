-- one row per search of a log in one batch: the fingerprint of its search_id
SELECT search_fp
FROM searches_read
