-- one row per usable click: its search and the normalised URL that was clicked
SELECT
    c.search_fp,
    c.time_ms,
    coalesce(r.normal_fp, c.url_fp) AS url_fp
FROM usable_clicks AS c
LEFT JOIN renamed_urls AS r ON c.url_fp = r.url_fp
