-- one row per wanted search_id of this batch with its own value
SELECT DISTINCT
    w.search_fp,
    i.search_id
FROM ids_read AS i
INNER JOIN wanted_ids AS w ON fingerprint(i.search_id) = w.search_fp
