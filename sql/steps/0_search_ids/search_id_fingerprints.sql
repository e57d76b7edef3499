-- one row per search that is read: its search_id and its fingerprint
SELECT
    search_fp,
    search_id
FROM searches_read
