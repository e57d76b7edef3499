-- one row per usable click: whether it finds one search, in time, and its position in the list of that search
SELECT
    c.search_fp,
    u.position,
    a.search_fp IS NOT NULL AS ambiguous,
    s.search_fp IS NOT NULL AS has_search,
    abs(c.time_ms - s.time_ms) <= $idle_ms AS in_time,
    s.page = 1 AS on_first_page
FROM clicks AS c
LEFT JOIN ambiguous_ids AS a ON c.search_fp = a.search_fp
LEFT JOIN searches AS s ON c.search_fp = s.search_fp AND a.search_fp IS NULL
LEFT JOIN list_urls AS u ON s.list_fp = u.list_fp AND c.url_fp = u.url_fp
