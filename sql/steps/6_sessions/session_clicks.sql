-- one row per click in time on searches of session_searches: its position in the list of the session's first search
-- (null = not in it; 0 = the list of a query that is left out)
SELECT
    c.user_fp,
    c.query_fp,
    c.visit,
    c.is_open,
    c.page = 1 AS on_first_page,
    CASE WHEN r.is_kept THEN position_in(r.urls, c.url_fp) ELSE 0 END AS position
FROM searches_read AS r
INNER JOIN clicks_of_sessions AS c ON r.row_nr = c.first_nr
