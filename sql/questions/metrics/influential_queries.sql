-- Which queries influence the correlation of MeanRR and ERR most: what does excluding one query change?
WITH centred AS (
    SELECT
        market,
        depth,
        judge,
        query,
        n_sessions AS n,
        "ERR" - sum(n_sessions * "ERR") OVER peers / sum(n_sessions) OVER peers AS e,
        "MeanRR" - sum(n_sessions * "MeanRR") OVER peers / sum(n_sessions) OVER peers AS c,
        1e-20 * n_sessions * "ERR" * "ERR" AS rounding_e,
        1e-20 * n_sessions * "MeanRR" * "MeanRR" AS rounding_c
    FROM configurations
    WINDOW peers AS (PARTITION BY market, depth, judge)
),

moments AS (
    SELECT
        market,
        depth,
        judge,
        query,
        count(*) AS n_configurations,
        CAST(sum(n) AS BIGINT) AS n,
        sum(n * e) AS e,
        sum(n * c) AS c,
        sum(n * e * e) AS ee,
        sum(n * c * c) AS cc,
        sum(n * e * c) AS ec,
        sum(rounding_e) AS rounding_e,
        sum(rounding_c) AS rounding_c
    FROM centred
    GROUP BY market, depth, judge, query
),

left_out AS (
    SELECT
        market,
        depth,
        judge,
        query,
        n_configurations,
        n AS n_sessions,
        sum(ee) OVER peers AS all_ee,
        sum(cc) OVER peers AS all_cc,
        sum(ec) OVER peers AS all_ec,
        sum(n) OVER peers - n AS rest_n,
        sum(e) OVER peers - e AS rest_e,
        sum(c) OVER peers - c AS rest_c,
        sum(ee) OVER peers - ee AS rest_ee,
        sum(cc) OVER peers - cc AS rest_cc,
        sum(ec) OVER peers - ec AS rest_ec,
        sum(rounding_e) OVER peers AS rounding_e,
        sum(rounding_c) OVER peers AS rounding_c
    FROM moments
    WINDOW peers AS (PARTITION BY market, depth, judge)
),

spread AS (
    SELECT
        market,
        depth,
        judge,
        query,
        n_configurations,
        n_sessions,
        CASE
            WHEN all_ee > rounding_e AND all_cc > rounding_c THEN all_ec / sqrt(all_ee * all_cc)
        END AS with_it,
        rest_ee - rest_e * rest_e / nullif(rest_n, 0) AS ee,
        rest_cc - rest_c * rest_c / nullif(rest_n, 0) AS cc,
        rest_ec - rest_e * rest_c / nullif(rest_n, 0) AS ec,
        greatest(rounding_e, 1e-12 * all_ee) AS no_ee,
        greatest(rounding_c, 1e-12 * all_cc) AS no_cc
    FROM left_out
),

compared AS (
    SELECT
        market,
        depth,
        judge,
        query,
        n_configurations,
        n_sessions,
        with_it,
        CASE WHEN ee > no_ee AND cc > no_cc THEN ec / sqrt(ee * cc) END AS without_it
    FROM spread
)

SELECT
    market,
    depth,
    judge,
    query,
    n_configurations,
    n_sessions,
    with_it AS correlation,
    without_it AS correlation_without,
    with_it - without_it AS effect
FROM compared
QUALIFY
    row_number() OVER (PARTITION BY market, depth, judge ORDER BY abs(effect) DESC NULLS FIRST, query) <= 20
ORDER BY market, depth, judge, abs(effect) DESC NULLS FIRST, query
