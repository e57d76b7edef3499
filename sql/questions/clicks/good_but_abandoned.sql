-- Which queries have good results by grades (ERR in the top quarter) and yet most sessions without a click?
WITH answered AS (
    SELECT
        market,
        depth,
        judge,
        query,
        count(*) AS n_configurations,
        CAST(sum(n_sessions) AS BIGINT) AS n_sessions,
        sum(n_sessions * "ERR") / sum(n_sessions) AS mean_err,
        1 - sum(n_sessions * "UCTR") / sum(n_sessions) AS abandonment
    FROM configurations
    GROUP BY market, depth, judge, query
),

good AS (
    SELECT
        market,
        depth,
        judge,
        query,
        n_configurations,
        n_sessions,
        mean_err,
        abandonment
    FROM answered
    QUALIFY mean_err >= quantile_cont(mean_err, 0.75) OVER (PARTITION BY market, depth, judge)
),

expected AS (
    SELECT
        market,
        depth,
        judge,
        query,
        n_configurations,
        n_sessions,
        mean_err,
        abandonment,
        sum(n_sessions * abandonment) OVER peers / sum(n_sessions) OVER peers AS usual_abandonment
    FROM good
    WINDOW peers AS (PARTITION BY market, depth, judge)
)

SELECT
    market,
    depth,
    judge,
    query,
    n_configurations,
    n_sessions,
    mean_err,
    abandonment,
    usual_abandonment,
    n_sessions * (abandonment - usual_abandonment) AS sessions_too_many
FROM expected
QUALIFY row_number() OVER (PARTITION BY market, depth, judge ORDER BY sessions_too_many DESC, query) <= 20
ORDER BY market, depth, judge, sessions_too_many DESC, query
