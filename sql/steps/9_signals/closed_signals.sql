-- one row per row of session_signals of closed sessions
SELECT
    list_fp,
    fold,
    on_first_page,
    signal,
    click_mask,
    sessions
FROM session_signals
WHERE NOT is_open
