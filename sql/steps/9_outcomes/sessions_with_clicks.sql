-- one row per session with a click in time
SELECT DISTINCT first_nr
FROM session_events
