-- one row per usable click: what becomes of it, and its position in the list of its own search
SELECT
    c.search_fp,
    c.time_ms,
    c.url_fp,
    u.position,
    s.page,
    CASE
        WHEN a.search_fp IS NOT NULL THEN 'ambiguous'
        WHEN s.search_fp IS NULL THEN 'unmatched'
        WHEN abs(c.time_ms - s.time_ms) > $idle_ms THEN 'out of time'
        ELSE 'kept'
    END AS fate
FROM clicks AS c
LEFT JOIN ambiguous_ids AS a ON c.search_fp = a.search_fp
LEFT JOIN searches AS s ON c.search_fp = s.search_fp AND a.search_fp IS NULL
LEFT JOIN list_urls AS u ON s.query_fp = u.query_fp AND s.list_fp = u.list_fp AND c.url_fp = u.url_fp
