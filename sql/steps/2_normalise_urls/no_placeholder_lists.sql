-- no row: every query is kept
SELECT
    market,
    query_fp AS list_fp
FROM query_texts
WHERE FALSE
