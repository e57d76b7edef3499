-- Between which two configurations of a query (of its 30 most frequent) does ERR rise while MeanRR falls?
WITH frequent AS (
    SELECT
        market,
        depth,
        judge,
        query,
        configuration_id,
        results,
        grades,
        n_sessions,
        "ERR",
        "MeanRR"
    FROM configurations
    QUALIFY
        row_number() OVER (
            PARTITION BY market, depth, judge, query ORDER BY n_sessions DESC, configuration_id
        ) <= 30
)

SELECT
    low.market,
    low.depth,
    low.judge,
    low.query,
    low.results AS results_from,
    high.results AS results_to,
    low.grades AS grades_from,
    high.grades AS grades_to,
    low.n_sessions AS sessions_from,
    high.n_sessions AS sessions_to,
    high."ERR" - low."ERR" AS err_change,
    high."MeanRR" - low."MeanRR" AS click_change,
    -err_change * click_change / (1 / low.n_sessions + 1 / high.n_sessions) AS weight
FROM frequent AS low
INNER JOIN frequent AS high
    ON
        low.market = high.market
        AND low.depth = high.depth
        AND low.judge = high.judge
        AND low.query = high.query
        AND low."ERR" < high."ERR"
        AND low."MeanRR" > high."MeanRR"
QUALIFY
    row_number() OVER (
        PARTITION BY low.market, low.depth, low.judge
        ORDER BY weight DESC, low.configuration_id, high.configuration_id
    ) <= 20
ORDER BY low.market, low.depth, low.judge, weight DESC, low.configuration_id, high.configuration_id
