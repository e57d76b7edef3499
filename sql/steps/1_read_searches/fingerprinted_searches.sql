-- one row per search as it is read: its query in normal form, the fingerprints of its texts, and the first reason that
-- makes it unusable, if one applies
WITH normal AS (
    SELECT
        carried,
        search_id,
        user_id,
        market,
        query AS raw_query,
        normalise_query(query) AS query,
        timestamp AS time_ms,
        page,
        results,
        experiment,
        variant,
        teams
    FROM searches_log
),

named AS (
    SELECT
        carried,
        search_id,
        user_id,
        market,
        raw_query,
        query,
        time_ms,
        page,
        results,
        experiment,
        variant,
        teams,
        id_fingerprint(search_id) AS search_fp,
        id_fingerprint(user_id) AS user_fp,
        query_fingerprint(market, query) AS query_fp,
        length_of(results) AS n_results,
        holds_null(results) AS holds_null
    FROM normal
)

SELECT
    carried,
    search_id,
    user_id,
    market,
    raw_query,
    query,
    time_ms,
    page,
    results,
    experiment,
    variant,
    teams,
    CASE WHEN $has_teams THEN draft_fingerprint(experiment, teams) END AS teams_fp,
    $has_teams AND coalesce(length_of(teams) = n_results, FALSE) AS teams_fit,
    search_fp,
    user_fp,
    query_fp,
    -- the list and its query in one number: equal lists of two queries are two configurations. A hash may skip nulls,
    -- so that a list with a null would have the number of another. 0 instead of null, for which engines look early
    CASE WHEN holds_null THEN 0 ELSE list_fingerprint(query_fp, results) END AS list_fp,
    CASE
        WHEN search_fp IS NULL THEN 'null search_id'
        WHEN user_fp IS NULL THEN 'null user_id'
        WHEN query IS NULL THEN 'null query'
        WHEN bytes_of(raw_query) > $most_bytes THEN 'query too long'
        WHEN time_ms IS NULL THEN 'null timestamp'
        WHEN time_ms < $first_ms OR time_ms >= $end_ms THEN 'time out of range'
        WHEN n_results IS NULL THEN 'null results'
        WHEN n_results = 0 THEN 'empty results'
        WHEN holds_null THEN 'null in results'
        WHEN market IS NULL THEN 'null market'
        WHEN page IS NULL THEN 'null page'
    END AS reason
FROM named
