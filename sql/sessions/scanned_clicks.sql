-- one row per click read: why it is unusable (null when it is usable) and its fingerprints
SELECT
    row_nr,
    fingerprint(search_id) AS search_fp,
    timestamp AS time_ms,
    fingerprint(url) AS url_fp,
    position AS place,
    CASE
        WHEN search_id IS NULL THEN 'null search_id'
        WHEN timestamp IS NULL THEN 'null timestamp'
        WHEN timestamp < $first_ms OR timestamp >= $end_ms THEN 'time out of range'
        WHEN $by_url AND url IS NULL THEN 'null url'
        WHEN NOT $by_url AND position IS NULL THEN 'null position'
        WHEN NOT $by_url AND position < 1 THEN 'position below 1'
    END AS reason
FROM clicks_read
