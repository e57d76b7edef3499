-- Which pairs of offline metrics do not differ significantly, and how many judged queries would it take?
SELECT
    comparisons.market,
    comparisons.depth,
    comparisons.judge,
    comparisons.click_metric,
    comparisons.metric_a,
    comparisons.metric_b,
    a.correlation AS correlation_a,
    b.correlation AS correlation_b,
    comparisons.difference,
    comparisons.ci_low,
    comparisons.ci_high,
    comparisons.p_adjusted,
    comparisons.n_queries,
    comparisons.queries_needed
FROM comparisons
LEFT JOIN correlations AS a
    ON
        comparisons.market = a.market
        AND comparisons.depth = a.depth
        AND comparisons.judge = a.judge
        AND comparisons.click_metric = a.click_metric
        AND comparisons.metric_a = a.editorial_metric
        AND a.split = 'all'
LEFT JOIN correlations AS b
    ON
        comparisons.market = b.market
        AND comparisons.depth = b.depth
        AND comparisons.judge = b.judge
        AND comparisons.click_metric = b.click_metric
        AND comparisons.metric_b = b.editorial_metric
        AND b.split = 'all'
WHERE comparisons.p_adjusted >= 0.05
ORDER BY
    comparisons.market,
    comparisons.depth,
    comparisons.judge,
    comparisons.click_metric,
    abs(comparisons.difference),
    comparisons.metric_a,
    comparisons.metric_b
