-- Which lists show a result once without and once with a better one above it, where its clicks collapse?
SELECT
    collapses.market,
    collapses.depth,
    collapses.judge,
    collapses.rank,
    collapses.query,
    collapses.url,
    collapses.grade,
    collapses.position_alone,
    collapses.ctr_alone,
    collapses.better_url,
    collapses.better_grade,
    collapses.position_below,
    collapses.ctr_below,
    collapses.ctr_alone / nullif(collapses.ctr_below, 0) AS times,
    collapses.average_ctr_alone / collapses.average_ctr_below AS times_on_average,
    collapses.least_excess,
    alone.results AS results_alone,
    alone.grades AS grades_alone,
    below.results AS results_below,
    below.grades AS grades_below
FROM collapses
INNER JOIN configurations AS alone
    ON
        collapses.market = alone.market
        AND collapses.depth = alone.depth
        AND collapses.judge = alone.judge
        AND collapses.configuration_alone = alone.configuration_id
INNER JOIN configurations AS below
    ON
        collapses.market = below.market
        AND collapses.depth = below.depth
        AND collapses.judge = below.judge
        AND collapses.configuration_below = below.configuration_id
ORDER BY collapses.market, collapses.depth, collapses.judge, collapses.rank
