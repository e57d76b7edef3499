-- one row per row of session_outcomes of closed sessions
SELECT
    list_fp,
    fold,
    on_first_page,
    outcome,
    sessions,
    total,
    total_of_squares
FROM session_outcomes
WHERE NOT is_open
