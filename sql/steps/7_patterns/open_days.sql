-- one row per row of session_days of open sessions: as if the log ended here
SELECT
    list_fp,
    day_nr,
    sessions
FROM session_days
WHERE is_open AND on_first_page
