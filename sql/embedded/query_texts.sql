-- one row per (market, query) as read: with its normal form
SELECT
    query_fp,
    market,
    normalise_query(raw_query) AS query,
    raw_query
FROM queries_read
