-- Is a result of a given grade and position clicked less when a better-graded result stands above it?
WITH shown AS (
    SELECT
        market,
        depth,
        judge,
        position,
        grades[position] AS grade,
        sessions,
        sessions * ((click_mask >> (position - 1)) & 1) AS clicks,
        list_max(grades[1:position - 1]) > grades[position] AS shadowed
    FROM configurations
    INNER JOIN patterns USING (configuration_id)
    CROSS JOIN unnest(range(2, depth + 1)) AS places (position)
)

SELECT
    market,
    depth,
    judge,
    position,
    grade,
    CAST(sum(sessions) FILTER (WHERE NOT shadowed) AS BIGINT) AS sessions_free,
    CAST(sum(sessions) FILTER (WHERE shadowed) AS BIGINT) AS sessions_shadowed,
    sum(clicks) FILTER (WHERE NOT shadowed) / sessions_free AS ctr_free,
    sum(clicks) FILTER (WHERE shadowed) / sessions_shadowed AS ctr_shadowed,
    ctr_shadowed / nullif(ctr_free, 0) AS part_left
FROM shown
GROUP BY market, depth, judge, position, grade
HAVING count(DISTINCT shadowed) = 2
ORDER BY market, depth, judge, position, grade
