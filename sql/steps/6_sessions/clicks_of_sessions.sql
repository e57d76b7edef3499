-- one row per click in time on searches of session_searches: its session, and the list of the session's first search
SELECT
    s.first_nr,
    s.is_open,
    s.page,
    s.list_fp,
    c.url_fp
FROM attributed_clicks AS c
INNER JOIN session_searches AS s ON c.search_nr = s.row_nr
WHERE c.in_time
