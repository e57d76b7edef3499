-- one row per click of this batch, or other action: fingerprints and numbers instead of texts, and the first reason
-- that makes it unusable, if one applies
WITH fingerprinted AS (
    SELECT
        carried,
        search_id,
        id_fingerprint(search_id) AS search_fp,
        timestamp AS time_ms,
        text_fingerprint(url) AS url_fp,
        position AS place,
        normalise_query(action) AS action,
        dwell_seconds AS dwell_ms
    FROM clicks_log
)

SELECT
    row_number_of_its_own() AS row_nr,
    carried,
    search_id,
    search_fp,
    time_ms,
    url_fp,
    url_fp AS raw_url_fp,
    place,
    CASE WHEN action <> '' THEN action ELSE 'click' END AS action,
    dwell_ms,
    CASE
        WHEN search_fp IS NULL THEN 'null search_id'
        WHEN time_ms IS NULL THEN 'null timestamp'
        WHEN time_ms < $first_ms OR time_ms >= $end_ms THEN 'time out of range'
        WHEN $by_url AND url_fp IS NULL THEN 'null url'
        WHEN NOT $by_url AND place IS NULL THEN 'null position'
        WHEN NOT $by_url AND place < 1 THEN 'position below 1'
    END AS reason
FROM fingerprinted
