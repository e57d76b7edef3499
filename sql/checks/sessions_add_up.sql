-- searches that are in no session, or in two: must be none
SELECT n_patterns.sessions
FROM
    (SELECT coalesce(sum(sessions), 0) AS sessions FROM session_patterns) AS n_patterns
CROSS JOIN (SELECT count(*) AS searches FROM searches) AS n_searches
CROSS JOIN (
    SELECT count(*) AS later
    FROM session_searches
    WHERE place_in_session > 1
) AS n_later
WHERE n_patterns.sessions <> n_searches.searches - n_later.later
