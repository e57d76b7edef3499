-- How does the correlation with MeanRR change from rare to frequent queries (decile 1 = rarest; Figure 4)?
SELECT
    market,
    depth,
    judge,
    CAST(class AS INTEGER) AS decile,
    max(n_queries) AS n_queries,
    max(n_sessions) AS n_sessions,
    max(correlation) FILTER (WHERE editorial_metric = 'ERR') AS "ERR",
    max(ci_low) FILTER (WHERE editorial_metric = 'ERR') AS err_low,
    max(ci_high) FILTER (WHERE editorial_metric = 'ERR') AS err_high,
    max(correlation) FILTER (WHERE editorial_metric = 'DCG') AS "DCG",
    max(correlation) FILTER (WHERE editorial_metric = 'NDCG') AS "NDCG",
    max(correlation) FILTER (WHERE editorial_metric = 'AP') AS "AP",
    max(correlation) FILTER (WHERE editorial_metric = 'RR') AS "RR",
    max(correlation) FILTER (WHERE editorial_metric = 'RBP') AS "RBP"
FROM correlations
WHERE split = 'frequency' AND click_metric = 'MeanRR'
GROUP BY market, depth, judge, class
ORDER BY market, depth, judge, decile
