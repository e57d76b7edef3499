-- On which results do two judges differ most, weighted by the sessions that saw them, and how often are these clicked?
WITH shown AS (
    SELECT
        a.market,
        a.depth,
        a.judge AS judge_a,
        b.judge AS judge_b,
        a.query,
        a.results[position] AS url,
        a.grades[position] AS grade_a,
        b.grades[position] AS grade_b,
        patterns.sessions,
        position * patterns.sessions AS positions,
        patterns.sessions * ((patterns.click_mask >> (position - 1)) & 1) AS clicks
    FROM configurations AS a
    INNER JOIN configurations AS b USING (market, depth, configuration_id)
    INNER JOIN patterns USING (configuration_id)
    CROSS JOIN unnest(range(1, a.depth + 1)) AS places (position)
    WHERE a.judge < b.judge AND a.grades[position] <> b.grades[position]
)

SELECT
    market,
    depth,
    judge_a,
    judge_b,
    query,
    url,
    grade_a,
    grade_b,
    CAST(sum(sessions) AS BIGINT) AS sessions,
    sum(positions) / sum(sessions) AS mean_position,
    sum(clicks) / sum(sessions) AS ctr
FROM shown
GROUP BY market, depth, judge_a, judge_b, query, url, grade_a, grade_b
QUALIFY
    row_number() OVER (
        PARTITION BY market, depth, judge_a, judge_b
        ORDER BY sum(sessions) * abs(grade_a - grade_b) DESC, query, url
    ) <= 20
ORDER BY market, depth, judge_a, judge_b, sum(sessions) * abs(grade_a - grade_b) DESC, query, url
