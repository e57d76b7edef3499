-- one row per search of this batch; one empty placeholder for each market replaces lists of queries without judgments
WITH marked AS (
    SELECT
        s.carried,
        s.search_id,
        s.search_fp,
        s.user_id,
        s.user_fp,
        s.market,
        s.query_fp,
        s.list_fp,
        s.time_ms,
        s.page,
        s.experiment,
        s.variant,
        s.teams_fp,
        s.teams_fit,
        s.reason,
        k.query_fp IS NOT NULL AS is_kept
    FROM searches_to_read AS s
    LEFT JOIN judged_queries_shown AS k ON s.query_fp = k.query_fp
)

SELECT
    row_number_of_its_own() AS row_nr,
    carried,
    search_id,
    search_fp,
    user_id,
    user_fp,
    query_fp,
    CASE WHEN is_kept THEN list_fp ELSE market_fingerprint(market) END AS list_fp,
    time_ms,
    page,
    is_kept,
    -- the arm of an A/B test, where searches say it
    CASE WHEN $arms_by_search AND experiment <> '' AND variant <> '' THEN experiment END AS experiment,
    CASE WHEN $arms_by_search AND experiment <> '' AND variant <> '' THEN variant END AS variant,
    teams_fp,
    teams_fit,
    reason
FROM marked
