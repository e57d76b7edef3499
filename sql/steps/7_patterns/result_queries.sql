-- one row per market and query, sorted
SELECT
    market,
    query,
    user_buckets
FROM queries
ORDER BY market, query
