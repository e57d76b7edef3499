-- one row per session without a click in time, on any URL
SELECT
    s.first_nr,
    s.is_open,
    s.list_fp,
    s.page,
    s.user_id
FROM session_of_searches AS s
ANTI JOIN sessions_with_clicks AS c ON s.first_nr = c.first_nr
WHERE s.place_from_end = 1
