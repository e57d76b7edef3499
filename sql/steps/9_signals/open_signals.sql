-- one row per row of session_signals of open sessions: as if the log ended here
SELECT
    list_fp,
    fold,
    on_first_page,
    signal,
    click_mask,
    sessions
FROM session_signals
WHERE is_open
