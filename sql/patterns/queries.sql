-- one row per market and query: which buckets its users fall into
SELECT
    c.market,
    c.query,
    bit_or(s.user_buckets) AS user_buckets
FROM session_patterns AS s
INNER JOIN session_configurations AS c ON s.list_fp = c.list_fp
GROUP BY c.market, c.query
