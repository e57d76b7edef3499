-- Which lists show a result once without and once with a better one above it, where it loses its clicks?
SELECT
    cascade_effects.market,
    cascade_effects.depth,
    cascade_effects.judge,
    cascade_effects.rank,
    cascade_effects.query,
    cascade_effects.url,
    cascade_effects.grade,
    cascade_effects.position_alone,
    cascade_effects.ctr_alone,
    cascade_effects.better_url,
    cascade_effects.better_grade,
    cascade_effects.position_below,
    cascade_effects.ctr_below,
    cascade_effects.ctr_alone / nullif(cascade_effects.ctr_below, 0) AS times,
    cascade_effects.average_ctr_alone / cascade_effects.average_ctr_below AS times_on_average,
    cascade_effects.min_excess_ctr_ratio,
    alone.results AS results_alone,
    alone.grades AS grades_alone,
    below.results AS results_below,
    below.grades AS grades_below
FROM cascade_effects
INNER JOIN configurations AS alone
    ON
        cascade_effects.market = alone.market
        AND cascade_effects.depth = alone.depth
        AND cascade_effects.judge = alone.judge
        AND cascade_effects.configuration_alone = alone.configuration_id
INNER JOIN configurations AS below
    ON
        cascade_effects.market = below.market
        AND cascade_effects.depth = below.depth
        AND cascade_effects.judge = below.judge
        AND cascade_effects.configuration_below = below.configuration_id
ORDER BY cascade_effects.market, cascade_effects.depth, cascade_effects.judge, cascade_effects.rank
