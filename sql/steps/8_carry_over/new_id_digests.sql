-- one row per search_id that is new in this batch, where ids are text: the digest by which a store knows it
SELECT DISTINCT id_digest(s.search_id) AS id
FROM searches_read AS s
SEMI JOIN new_search_ids AS b ON s.row_nr = b.row_nr
ORDER BY id
