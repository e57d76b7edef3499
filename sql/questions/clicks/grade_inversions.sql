-- Which results are clicked more than a better-graded result shown above them (grades worth a second look)?
WITH pairs AS (
    SELECT
        market,
        depth,
        judge,
        query,
        results[upper_position] AS upper_url,
        grades[upper_position] AS upper_grade,
        results[lower_position] AS lower_url,
        grades[lower_position] AS lower_grade,
        sessions,
        sessions * ((click_mask >> (upper_position - 1)) & 1) AS upper_clicks,
        sessions * ((click_mask >> (lower_position - 1)) & 1) AS lower_clicks
    FROM configurations
    INNER JOIN patterns USING (configuration_id)
    CROSS JOIN unnest(range(1, depth)) AS uppers (upper_position)
    CROSS JOIN unnest(range(upper_position + 1, depth + 1)) AS lowers (lower_position)
    WHERE grades[upper_position] > grades[lower_position]
)

SELECT
    market,
    depth,
    judge,
    query,
    upper_url,
    upper_grade,
    lower_url,
    lower_grade,
    CAST(sum(sessions) AS BIGINT) AS sessions,
    sum(upper_clicks) / sum(sessions) AS upper_ctr,
    sum(lower_clicks) / sum(sessions) AS lower_ctr,
    CAST(sum(lower_clicks) - sum(upper_clicks) AS BIGINT) AS extra_clicks
FROM pairs
GROUP BY market, depth, judge, query, upper_url, upper_grade, lower_url, lower_grade
HAVING sum(lower_clicks) > sum(upper_clicks)
QUALIFY
    row_number() OVER (
        PARTITION BY market, depth, judge ORDER BY extra_clicks DESC, query, upper_url, lower_url
    ) <= 20
ORDER BY market, depth, judge, extra_clicks DESC, query, upper_url, lower_url
