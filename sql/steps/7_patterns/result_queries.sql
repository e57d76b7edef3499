-- one row per market and query, in their order
SELECT
    market,
    query,
    user_buckets
FROM queries
ORDER BY market, query
