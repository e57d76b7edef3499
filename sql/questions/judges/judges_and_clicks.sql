-- With whose grades do metrics predict clicks better, on the configurations that two judges both judged?
SELECT
    market,
    depth,
    click_metric,
    editorial_metric,
    judge_a,
    judge_b,
    correlation_a,
    correlation_b,
    difference,
    ci_low,
    ci_high,
    p_adjusted,
    queries_needed,
    n_configurations
FROM judge_comparisons
ORDER BY market, depth, click_metric, judge_a, judge_b, abs(difference) DESC, editorial_metric
