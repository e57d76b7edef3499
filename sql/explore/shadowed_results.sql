-- Which URLs (below the first place) lose most clicks when a better-graded result stands above them?
WITH shown AS (
    SELECT
        market,
        depth,
        judge,
        query,
        position,
        results[position] AS url,
        grades[position] AS grade,
        sessions,
        sessions * ((click_mask >> (position - 1)) & 1) AS clicks,
        list_max(grades[1:position - 1]) > grades[position] AS shadowed
    FROM configurations
    INNER JOIN patterns USING (configuration_id)
    CROSS JOIN unnest(range(2, depth + 1)) AS places (position)
),

compared AS (
    SELECT
        market,
        depth,
        judge,
        query,
        url,
        grade,
        CAST(sum(sessions) FILTER (WHERE NOT shadowed) AS BIGINT) AS sessions_free,
        CAST(sum(sessions) FILTER (WHERE shadowed) AS BIGINT) AS sessions_shadowed,
        sum(position * sessions) FILTER (WHERE NOT shadowed) / sessions_free AS position_free,
        sum(position * sessions) FILTER (WHERE shadowed) / sessions_shadowed AS position_shadowed,
        sum(clicks) FILTER (WHERE NOT shadowed) / sessions_free AS ctr_free,
        sum(clicks) FILTER (WHERE shadowed) / sessions_shadowed AS ctr_shadowed,
        sum(clicks) / sum(sessions) AS ctr
    FROM shown
    GROUP BY market, depth, judge, query, url, grade
)

SELECT
    market,
    depth,
    judge,
    query,
    url,
    grade,
    sessions_free,
    sessions_shadowed,
    position_free,
    position_shadowed,
    ctr_free,
    ctr_shadowed,
    ctr_free - ctr_shadowed AS ctr_drop,
    ctr_drop / sqrt(ctr * (1 - ctr) * (1 / sessions_free + 1 / sessions_shadowed)) AS standard_errors
FROM compared
WHERE ctr_free > ctr_shadowed
QUALIFY
    row_number() OVER (PARTITION BY market, depth, judge ORDER BY standard_errors DESC, query, url) <= 20
ORDER BY market, depth, judge, standard_errors DESC, query, url
