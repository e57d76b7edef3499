-- one row per search of a visit that may still grow, as it was read; lists of queries that are left out are not kept
WITH still_open AS (
    SELECT
        r.search_fp,
        r.user_fp,
        r.query_fp,
        r.list_fp,
        r.time_ms,
        r.page,
        r.is_kept,
        coalesce(r.experiment, d.experiment) AS experiment,
        r.variant,
        d.teams_fp
    FROM searches_read AS r
    SEMI JOIN open_searches AS c ON r.row_nr = c.row_nr
    LEFT JOIN draft_texts AS d ON r.teams_fp = d.teams_fp AND r.teams_fit AND d.has_test AND r.is_kept
)

SELECT
    s.search_id,
    s.user_id,
    -- repeated deliveries, spelt in another way or with a list that is left out, are the same search
    min(s.raw_query) AS query,
    s.time_ms AS timestamp,
    min(CASE WHEN o.is_kept THEN s.results ELSE left_out_results() END) AS results,
    s.market,
    s.page,
    min(o.variant) AS variant,
    min(o.experiment) AS experiment,
    min(CASE WHEN s.teams_fp = o.teams_fp THEN s.teams END) AS teams
FROM fingerprinted_searches AS s
-- at most one row of still_open: of repeated deliveries only one is in a session
INNER JOIN still_open AS o
    ON
        s.search_fp = o.search_fp AND s.user_fp = o.user_fp AND s.query_fp = o.query_fp
        AND s.time_ms = o.time_ms AND s.page = o.page AND (NOT o.is_kept OR s.list_fp = o.list_fp)
GROUP BY s.search_id, s.user_id, s.query_fp, s.time_ms, s.market, s.page
ORDER BY timestamp, s.search_id, s.user_id NULLS FIRST, s.page NULLS FIRST
