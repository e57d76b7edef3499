-- Which queries were answered with most configurations, and how much do these differ in ERR and clicks?
SELECT
    market,
    depth,
    judge,
    query,
    count(*) AS n_configurations,
    CAST(sum(n_sessions) AS BIGINT) AS n_sessions,
    max(n_sessions) / sum(n_sessions) AS largest_share,
    min("ERR") AS err_low,
    max("ERR") AS err_high,
    min("MeanRR") AS clicks_low,
    max("MeanRR") AS clicks_high
FROM configurations
GROUP BY market, depth, judge, query
QUALIFY
    row_number() OVER (
        PARTITION BY market, depth, judge ORDER BY count(*) DESC, sum(n_sessions) DESC, query
    ) <= 20
ORDER BY market, depth, judge, count(*) DESC, sum(n_sessions) DESC, query
