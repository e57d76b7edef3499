-- one row per search whose search_id is repeated, as it is read
SELECT
    s.carried,
    s.search_id,
    s.user_id,
    s.market,
    s.query,
    s.time_ms,
    s.page,
    s.results,
    s.experiment,
    s.variant,
    s.teams_fp,
    s.teams_fit,
    s.search_fp,
    s.user_fp,
    s.query_fp,
    s.list_fp,
    s.reason
FROM fingerprinted_searches AS s
SEMI JOIN repeated_ids AS i ON s.search_fp = i.search_fp
