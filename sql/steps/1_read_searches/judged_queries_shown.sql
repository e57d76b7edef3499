-- one row per (market, query) of this batch that has judgments
SELECT s.query_fp
FROM query_texts AS s
SEMI JOIN judged_queries AS j ON s.query = j.query AND (j.market IS NULL OR s.market = j.market)
