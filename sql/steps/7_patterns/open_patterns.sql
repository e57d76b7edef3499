-- one row per row of session_patterns of open sessions: as if the log ended here
SELECT
    list_fp,
    fold,
    on_first_page,
    click_mask,
    sessions,
    user_buckets
FROM session_patterns
WHERE is_open
