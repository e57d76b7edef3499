-- one row per search_id that is new in this batch, where ids are whole numbers: the id
SELECT DISTINCT search_fp AS id
FROM new_search_ids
ORDER BY id
