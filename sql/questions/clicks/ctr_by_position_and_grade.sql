-- How often is a result clicked, by its position and its grade?
WITH shown AS (
    SELECT
        market,
        depth,
        judge,
        position,
        grades[position] AS grade,
        sessions,
        sessions * ((click_mask >> (position - 1)) & 1) AS clicks
    FROM configurations
    INNER JOIN patterns USING (configuration_id)
    CROSS JOIN unnest(range(1, depth + 1)) AS places (position)
)

SELECT
    market,
    depth,
    judge,
    position,
    grade,
    CAST(sum(sessions) AS BIGINT) AS sessions,
    CAST(sum(clicks) AS BIGINT) AS clicks,
    sum(clicks) / sum(sessions) AS ctr
FROM shown
GROUP BY market, depth, judge, position, grade
ORDER BY market, depth, judge, position, grade
