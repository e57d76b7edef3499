-- one row per session without a click in time, on any URL
SELECT
    s.user_fp,
    s.query_fp,
    s.visit,
    s.is_open,
    s.list_fp,
    s.page,
    s.user_id
FROM session_of_searches AS s
ANTI JOIN sessions_with_clicks AS c ON s.user_fp = c.user_fp AND s.query_fp = c.query_fp AND s.visit = c.visit
WHERE s.place_from_end = 1
