-- one row per search_id shown: the digest by which a store knows it
SELECT id_digest(search_id) AS id
FROM ids_read
