-- one row per place of each result list: the normalised URL there
SELECT
    p.list_fp,
    p.place,
    coalesce(r.normal_fp, p.url_fp) AS url_fp
FROM shown_places AS p
LEFT JOIN renamed_urls AS r ON p.url_fp = r.url_fp
