-- Of two lists for a query, which metrics prefer the one that users prefer, and how often?
SELECT
    market,
    depth,
    judge,
    click_metric,
    editorial_metric,
    correlation,
    ci_low,
    ci_high,
    ceiling,
    sign_agreement,
    n_queries
FROM within
WHERE split = 'all' AND correlation IS NOT NULL
ORDER BY market, depth, judge, click_metric, correlation DESC, editorial_metric
