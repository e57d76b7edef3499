-- Which configurations do ERR and clicks (MeanRR) rank most differently, weighted by their sessions?
WITH ranked AS (
    SELECT
        market,
        depth,
        judge,
        configuration_id,
        query,
        results,
        grades,
        n_sessions,
        "ERR",
        "MeanRR",
        (cume_dist() OVER by_err + (rank() OVER by_err - 1) / count(*) OVER peers) / 2 AS err_rank,
        (cume_dist() OVER by_clicks + (rank() OVER by_clicks - 1) / count(*) OVER peers) / 2 AS click_rank
    FROM configurations
    WINDOW
        peers AS (PARTITION BY market, depth, judge),
        by_err AS (PARTITION BY market, depth, judge ORDER BY "ERR"),
        by_clicks AS (PARTITION BY market, depth, judge ORDER BY "MeanRR")
)

SELECT
    market,
    depth,
    judge,
    query,
    results,
    grades,
    n_sessions,
    "ERR",
    "MeanRR",
    err_rank,
    click_rank,
    err_rank - click_rank AS rank_gap,
    n_sessions * abs(err_rank - click_rank) AS sessions_apart
FROM ranked
WHERE err_rank <> click_rank
QUALIFY
    row_number() OVER (PARTITION BY market, depth, judge ORDER BY sessions_apart DESC, configuration_id) <= 20
ORDER BY market, depth, judge, sessions_apart DESC, configuration_id
