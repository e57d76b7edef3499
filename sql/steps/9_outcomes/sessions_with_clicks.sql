-- one row per session with a click in time
SELECT DISTINCT
    user_fp,
    query_fp,
    visit
FROM session_events
