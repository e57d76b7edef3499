-- one row per market with a query that is left out: the number that stands for all its lists
SELECT DISTINCT
    s.market,
    market_fingerprint(s.market) AS list_fp
FROM shown_queries AS s
ANTI JOIN kept_queries AS k ON s.query_fp = k.query_fp
