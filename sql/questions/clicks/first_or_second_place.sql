-- How much more is a URL clicked in first place than in second below a better result (Figure 2 of the paper)?
WITH shown AS (
    SELECT
        market,
        depth,
        judge,
        query,
        position,
        results[position] AS url,
        grades[1] > grades[position] AS shadowed,
        sessions,
        sessions * ((click_mask >> (position - 1)) & 1) AS clicks
    FROM configurations
    INNER JOIN patterns USING (configuration_id)
    CROSS JOIN unnest(range(1, least(depth, 2) + 1)) AS places (position)
),

usual AS (
    SELECT
        market,
        depth,
        judge,
        sum(clicks) FILTER (WHERE position = 1) / sum(sessions) FILTER (WHERE position = 1) AS ctr_first,
        sum(clicks) FILTER (WHERE position = 2) / sum(sessions) FILTER (WHERE position = 2) AS ctr_second
    FROM shown
    GROUP BY market, depth, judge
),

compared AS (
    SELECT
        market,
        depth,
        judge,
        query,
        url,
        CAST(sum(sessions) FILTER (WHERE position = 1) AS BIGINT) AS sessions_first,
        CAST(sum(sessions) FILTER (WHERE position = 2 AND shadowed) AS BIGINT) AS sessions_second,
        sum(clicks) FILTER (WHERE position = 1) / sessions_first AS ctr_first,
        sum(clicks) FILTER (WHERE position = 2 AND shadowed) / sessions_second AS ctr_second
    FROM shown
    GROUP BY market, depth, judge, query, url
)

SELECT
    compared.market,
    compared.depth,
    compared.judge,
    compared.query,
    compared.url,
    compared.sessions_first,
    compared.sessions_second,
    compared.ctr_first,
    compared.ctr_second,
    compared.ctr_first / nullif(compared.ctr_second, 0) AS times,
    usual.ctr_first / nullif(usual.ctr_second, 0) AS times_on_average
FROM compared
INNER JOIN usual USING (market, depth, judge)
WHERE compared.sessions_first > 0 AND compared.sessions_second > 0
QUALIFY
    row_number() OVER (
        PARTITION BY compared.market, compared.depth, compared.judge
        ORDER BY least(compared.sessions_first, compared.sessions_second) DESC, compared.query, compared.url
    ) <= 20
ORDER BY
    compared.market,
    compared.depth,
    compared.judge,
    least(compared.sessions_first, compared.sessions_second) DESC,
    compared.query,
    compared.url
