-- one row per search as it is read: its query in normal form, and the fingerprints of its texts
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
        results
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
        query_fingerprint(market, query) AS query_fp
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
    id_fingerprint(search_id) AS search_fp,
    id_fingerprint(user_id) AS user_fp,
    query_fp,
    -- the list and its query in one number: equal lists of two queries are two configurations
    list_fingerprint(query_fp, results) AS list_fp
FROM named
