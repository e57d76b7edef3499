-- one row per search read: why it is unusable (null when it is usable) and the fingerprints of its texts
SELECT
    row_nr,
    fingerprint(search_id) AS search_fp,
    fingerprint(user_id) AS user_fp,
    fingerprint_pair(market, query) AS query_fp,
    fingerprint_list(results) AS list_fp,
    timestamp AS time_ms,
    page,
    user_digest(user_id) AS user_digest,
    CASE
        WHEN search_id IS NULL THEN 'null search_id'
        WHEN user_id IS NULL THEN 'null user_id'
        WHEN query IS NULL THEN 'null query'
        WHEN timestamp IS NULL THEN 'null timestamp'
        WHEN timestamp < $first_ms OR timestamp >= $end_ms THEN 'time out of range'
        WHEN results IS NULL THEN 'null results'
        WHEN size_of(results) = 0 THEN 'empty results'
        WHEN holds_null(results) THEN 'null in results'
        WHEN market IS NULL THEN 'null market'
        WHEN page IS NULL THEN 'null page'
    END AS reason
FROM searches_read
