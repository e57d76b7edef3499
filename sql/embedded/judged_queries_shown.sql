-- one row per (market, query) first read in this batch that has judgments, as read
SELECT s.query_fp
FROM query_texts AS s
SEMI JOIN queries_read AS r ON s.query_fp = r.query_fp
SEMI JOIN judged_queries AS j ON s.query = j.query AND (j.market IS NULL OR s.market = j.market)
