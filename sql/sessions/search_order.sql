-- one row per wanted search_id: its own value, once
SELECT DISTINCT
    search_fp,
    search_id
FROM known_ids
