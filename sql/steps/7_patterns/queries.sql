-- one row per market and query: the buckets of its users
SELECT
    market,
    query,
    bit_or(user_buckets) AS user_buckets
FROM list_configurations
GROUP BY market, query
