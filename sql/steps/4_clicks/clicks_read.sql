-- one row per click of this batch: fingerprints and numbers instead of texts
SELECT
    row_number_of_its_own() AS row_nr,
    carried,
    search_id,
    id_fingerprint(search_id) AS search_fp,
    timestamp AS time_ms,
    text_fingerprint(url) AS url_fp,
    text_fingerprint(url) AS raw_url_fp,
    position AS place
FROM clicks_log
