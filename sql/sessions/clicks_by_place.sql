-- one row per usable click: its search and the URL at the clicked place of that search's own list
SELECT
    c.search_fp,
    c.time_ms,
    p.url_fp
FROM usable_clicks AS c
LEFT JOIN ambiguous_ids AS a ON c.search_fp = a.search_fp
LEFT JOIN searches AS s ON c.search_fp = s.search_fp AND a.search_fp IS NULL
LEFT JOIN list_places AS p ON s.list_fp = p.list_fp AND c.place = p.place
