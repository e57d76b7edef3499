-- one row per search whose search_id is repeated: its search_id and its fingerprint
SELECT
    s.search_fp,
    s.search_id
FROM searches_read AS s
SEMI JOIN repeated_ids AS r ON s.search_fp = r.search_fp
