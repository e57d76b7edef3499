-- one row per clicked URL that normal form changes: its fingerprint as read, and that of its normal form
WITH clicked AS (
    SELECT DISTINCT url
    FROM clicks_log
    WHERE $normalise_urls AND may_be_unnormalised(url)
)

SELECT
    text_fingerprint(url) AS raw_fp,
    text_fingerprint(normalise_url(url)) AS url_fp
FROM clicked
WHERE url <> normalise_url(url)
