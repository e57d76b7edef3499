-- one row per click of this batch, or other action: fingerprints and numbers instead of texts, and the first reason
-- that makes it unusable, if one applies; some URLs have another normal form
WITH fingerprinted AS (
    SELECT
        carried,
        search_id,
        id_fingerprint(search_id) AS search_fp,
        timestamp AS time_ms,
        text_fingerprint(url) AS raw_fp,
        position AS place,
        normalise_query(action) AS action,
        dwell_seconds AS dwell_ms
    FROM clicks_log
)

SELECT
    row_number_of_its_own() AS row_nr,
    c.carried,
    c.search_id,
    c.search_fp,
    c.time_ms,
    coalesce(n.url_fp, c.raw_fp) AS url_fp,
    c.raw_fp AS raw_url_fp,
    c.place,
    CASE WHEN c.action <> '' THEN c.action ELSE 'click' END AS action,
    c.dwell_ms,
    CASE
        WHEN c.search_fp IS NULL THEN 'null search_id'
        WHEN c.time_ms IS NULL THEN 'null timestamp'
        WHEN c.time_ms < $first_ms OR c.time_ms >= $end_ms THEN 'time out of range'
        WHEN $by_url AND c.raw_fp IS NULL THEN 'null url'
        WHEN NOT $by_url AND c.place IS NULL THEN 'null position'
        WHEN NOT $by_url AND c.place < 1 THEN 'position below 1'
    END AS reason
FROM fingerprinted AS c
LEFT JOIN normal_urls_of_clicks AS n ON c.raw_fp = n.raw_fp
