-- no row: every query is kept
SELECT
    market,
    query_fp AS list_fp
FROM shown_queries
WHERE FALSE
