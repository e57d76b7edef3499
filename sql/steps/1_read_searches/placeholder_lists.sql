-- one row per market with a query that is left out: the placeholder of all lists of such queries
SELECT DISTINCT
    s.market,
    market_fingerprint(s.market) AS list_fp
FROM query_texts AS s
ANTI JOIN judged_queries_shown AS k ON s.query_fp = k.query_fp
