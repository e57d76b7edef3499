-- one row per URL shown whose normal form differs from what was read
SELECT DISTINCT
    url,
    normalise_url(url) AS normal
FROM urls_read
WHERE url <> normalise_url(url)
