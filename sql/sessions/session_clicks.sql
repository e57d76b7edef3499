-- one row per kept click of those sessions: its position in the list of the session's first search
SELECT
    s.user_fp,
    s.normal_fp,
    s.visit,
    s.page,
    u.position,
    coalesce(u.position <= $depth, FALSE) AS on_top
FROM click_fates AS f
INNER JOIN session_searches AS s ON f.search_fp = s.search_fp
LEFT JOIN list_urls AS u ON s.query_fp = u.query_fp AND s.list_fp = u.list_fp AND f.url_fp = u.url_fp
WHERE f.fate = 'kept'
