-- Which correlations have no value, and why?
SELECT
    market,
    depth,
    judge,
    split,
    class,
    reason,
    count(*) AS n_values,
    max(n_configurations) AS n_configurations,
    max(n_queries) AS n_queries,
    max(n_sessions) AS n_sessions
FROM correlations
WHERE correlation IS NULL
GROUP BY market, depth, judge, split, class, reason
ORDER BY market, depth, judge, split, class, reason
