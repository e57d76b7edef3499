-- searches that are in no session, or in two: must be none
WITH formed AS (
    SELECT coalesce(sum(sessions), 0) AS sessions
    FROM session_patterns
),

searched AS (
    SELECT count(*) AS searches
    FROM searches
),

later AS (
    SELECT count(*) AS searches
    FROM session_searches
    WHERE place_in_session > 1
)

SELECT f.sessions
FROM formed AS f
CROSS JOIN searched AS s
CROSS JOIN later AS l
WHERE f.sessions <> s.searches - l.searches
