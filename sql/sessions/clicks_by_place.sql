-- one row per usable click: its search and the URL at the clicked place of that search's own list
SELECT
    c.search_fp,
    c.time_ms,
    p.url_fp
FROM usable_clicks AS c
LEFT JOIN searches AS s ON c.search_fp = s.search_fp AND c.search_fp NOT IN (SELECT a.search_fp FROM ambiguous_ids AS a)
LEFT JOIN list_places AS p ON s.query_fp = p.query_fp AND s.list_fp = p.list_fp AND c.place = p.place
