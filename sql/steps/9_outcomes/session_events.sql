-- one row per click in time: the session of its search
SELECT
    s.first_nr,
    c.time_ms
FROM attributed_clicks AS c
INNER JOIN session_of_searches AS s ON c.search_nr = s.row_nr
WHERE c.in_time
