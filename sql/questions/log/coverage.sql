-- How much of the log is judged: sessions kept of all sessions, by market, depth and judge?
SELECT
    market,
    depth,
    judge,
    n_queries,
    n_configurations,
    n_sessions,
    n_all_sessions,
    coverage,
    n_configurations / nullif(n_queries, 0) AS configurations_per_query,
    n_sessions / nullif(n_configurations, 0) AS sessions_per_configuration
FROM statistics
ORDER BY market, depth, judge
