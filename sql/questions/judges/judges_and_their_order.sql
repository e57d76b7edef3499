-- Whose order do clicks support, where two judges order two neighbouring results oppositely?
SELECT
    market,
    depth,
    judge_a,
    judge_b,
    upper_a,
    upper_b,
    difference,
    ci_low,
    ci_high,
    p_adjusted,
    supported,
    n_pairs,
    n_clicks,
    n_queries,
    queries_needed
FROM judge_disagreements
ORDER BY market, depth, judge_a, judge_b
