-- Which offline metric (baselines aside) correlates best with each click metric, by what margin over the next?
WITH placed AS (
    SELECT
        market,
        depth,
        judge,
        click_metric,
        editorial_metric,
        correlation,
        ci_low,
        ci_high,
        row_number() OVER (
            PARTITION BY market, depth, judge, click_metric ORDER BY correlation DESC, editorial_metric
        ) AS place
    FROM correlations
    WHERE
        split = 'all' AND correlation IS NOT NULL
        AND editorial_metric NOT IN ('MeanGrade', 'MeanGrade@1', 'P@1')
),

margins AS (
    SELECT
        market,
        depth,
        judge,
        click_metric,
        metric_a AS best,
        metric_b AS runner_up,
        ci_low,
        ci_high,
        p_adjusted
    FROM comparisons
    UNION ALL
    SELECT
        market,
        depth,
        judge,
        click_metric,
        metric_b AS best,
        metric_a AS runner_up,
        -ci_high AS ci_low,
        -ci_low AS ci_high,
        p_adjusted
    FROM comparisons
)

SELECT
    leader.market,
    leader.depth,
    leader.judge,
    leader.click_metric,
    leader.editorial_metric AS best,
    leader.correlation,
    leader.ci_low,
    leader.ci_high,
    rival.editorial_metric AS runner_up,
    leader.correlation - rival.correlation AS margin,
    margins.ci_low AS margin_low,
    margins.ci_high AS margin_high,
    margins.p_adjusted
FROM placed AS leader
LEFT JOIN placed AS rival
    ON
        leader.market = rival.market
        AND leader.depth = rival.depth
        AND leader.judge = rival.judge
        AND leader.click_metric = rival.click_metric
        AND rival.place = 2
LEFT JOIN margins
    ON
        leader.market = margins.market
        AND leader.depth = margins.depth
        AND leader.judge = margins.judge
        AND leader.click_metric = margins.click_metric
        AND leader.editorial_metric = margins.best
        AND rival.editorial_metric = margins.runner_up
WHERE leader.place = 1
ORDER BY leader.market, leader.depth, leader.judge, leader.correlation DESC, leader.click_metric
