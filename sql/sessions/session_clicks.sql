-- one row per click in time of those sessions: its position in the list of the session's first search
SELECT
    s.user_fp,
    s.normal_fp,
    s.visit,
    u.position,
    s.page = 1 AS on_first_page,
    coalesce(u.position <= $depth, FALSE) AS on_top
FROM clicks AS c
INNER JOIN session_searches AS s ON c.search_fp = s.search_fp
LEFT JOIN ambiguous_ids AS a ON c.search_fp = a.search_fp
LEFT JOIN list_urls AS u ON s.list_fp = u.list_fp AND c.url_fp = u.url_fp
WHERE a.search_fp IS NULL AND abs(c.time_ms - s.time_ms) <= $idle_ms
