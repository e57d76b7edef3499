-- one row per wanted search_id of this batch with its own value
SELECT DISTINCT
    w.search_fp,
    i.id_value AS search_id
FROM ids_read AS i
INNER JOIN wanted_ids AS w ON i.search_fp = w.search_fp
