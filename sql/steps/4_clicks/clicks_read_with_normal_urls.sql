-- one row per click of this batch: fingerprints and numbers instead of texts; some URLs have another normal form
WITH fingerprinted AS (
    SELECT
        carried,
        search_id,
        timestamp AS time_ms,
        text_fingerprint(url) AS raw_fp,
        position AS place
    FROM clicks_log
)

SELECT
    row_number_of_its_own() AS row_nr,
    c.carried,
    c.search_id,
    id_fingerprint(c.search_id) AS search_fp,
    c.time_ms,
    coalesce(n.url_fp, c.raw_fp) AS url_fp,
    c.raw_fp AS raw_url_fp,
    c.place
FROM fingerprinted AS c
LEFT JOIN normal_urls_of_clicks AS n ON c.raw_fp = n.raw_fp
