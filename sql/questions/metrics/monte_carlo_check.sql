-- Where does the Monte Carlo run of Algorithm 3 differ most from its closed form, in standard errors?
SELECT
    market,
    depth,
    judge,
    click_metric,
    editorial_metric,
    monte_carlo,
    exact,
    monte_carlo_se,
    (monte_carlo - exact) / nullif(monte_carlo_se, 0) AS standard_errors,
    noise_corrected,
    n_queries
FROM differences
WHERE monte_carlo IS NOT NULL AND exact IS NOT NULL
QUALIFY
    row_number() OVER (
        PARTITION BY market, depth, judge
        ORDER BY abs(standard_errors) DESC, click_metric, editorial_metric
    ) <= 20
ORDER BY market, depth, judge, abs(standard_errors) DESC, click_metric, editorial_metric
