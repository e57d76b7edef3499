-- one row per row of session_outcomes of open sessions: as if the log ended here
SELECT
    list_fp,
    fold,
    on_first_page,
    outcome,
    sessions,
    total,
    total_of_squares
FROM session_outcomes
WHERE is_open
