-- one row per (market, query) first read in this batch that is not in normal form
SELECT
    s.query_fp,
    s.market,
    s.query
FROM query_texts AS s
SEMI JOIN queries_read AS q ON s.query_fp = q.query_fp
WHERE s.query <> s.raw_query
