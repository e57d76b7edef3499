-- Which sets of positions are clicked together most often (an empty set is a session without a click)?
WITH counted AS (
    SELECT
        market,
        depth,
        judge,
        click_mask,
        CAST(sum(sessions) AS BIGINT) AS sessions,
        count(DISTINCT configuration_id) AS n_configurations
    FROM configurations
    INNER JOIN patterns USING (configuration_id)
    GROUP BY market, depth, judge, click_mask
)

SELECT
    market,
    depth,
    judge,
    [p FOR p IN range(1, depth + 1) IF (click_mask >> (p - 1)) & 1 = 1] AS clicked_positions,
    sessions,
    sessions / sum(sessions) OVER (PARTITION BY market, depth, judge) AS part,
    n_configurations
FROM counted
QUALIFY row_number() OVER (PARTITION BY market, depth, judge ORDER BY sessions DESC, click_mask) <= 20
ORDER BY market, depth, judge, sessions DESC, click_mask
