-- one row per click in time on searches of session_searches: its position in the list of the session's first search
-- (null = not in it; 0 = the list of a query that is left out: only those have no URLs)
SELECT
    c.first_nr,
    c.is_open,
    c.page = 1 AS on_first_page,
    CASE WHEN l.list_fp IS NULL THEN 0 ELSE position_in(l.urls, c.url_fp) END AS position
FROM clicks_of_sessions AS c
LEFT JOIN list_texts AS l ON c.list_fp = l.list_fp
