-- one row per search of this batch, as it is read
SELECT
    carried,
    search_id,
    user_id,
    market,
    query,
    time_ms,
    page,
    results,
    experiment,
    variant,
    teams_fp,
    teams_fit,
    search_fp,
    user_fp,
    query_fp,
    list_fp,
    reason
FROM fingerprinted_searches
