-- one row per distinct clicked URL as it was read: its fingerprint, and that of its normal form
SELECT
    fingerprint(url) AS url_fp,
    fingerprint(CASE WHEN $normalise_urls THEN normalise_url(url) ELSE url END) AS normal_fp
FROM texts_read
