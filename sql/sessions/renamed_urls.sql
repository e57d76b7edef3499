-- one row per clicked URL whose normal form differs from what was read
SELECT
    url_fp,
    normal_fp
FROM clicked_urls
WHERE url_fp <> normal_fp
