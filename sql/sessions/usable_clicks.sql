-- one row per usable click
SELECT
    search_fp,
    time_ms,
    url_fp,
    place
FROM scanned_clicks
WHERE reason IS NULL
