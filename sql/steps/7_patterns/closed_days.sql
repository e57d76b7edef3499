-- one row per row of session_days of closed sessions
SELECT
    list_fp,
    day_nr,
    sessions
FROM session_days
WHERE NOT is_open AND on_first_page
