-- no row: no search_id is repeated
SELECT search_fp
FROM repeated_ids
WHERE FALSE
