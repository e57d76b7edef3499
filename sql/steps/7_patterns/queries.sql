-- one row per market and query: the buckets of its users
SELECT
    q.market,
    q.query,
    bit_or(s.user_buckets) AS user_buckets
FROM chosen_patterns AS s
INNER JOIN list_configurations AS c ON s.list_fp = c.list_fp
INNER JOIN query_texts AS q ON c.query_fp = q.query_fp
GROUP BY q.market, q.query
