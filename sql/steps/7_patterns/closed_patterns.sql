-- one row per row of session_patterns of closed sessions: no later search or click can change these
SELECT
    list_fp,
    fold,
    on_first_page,
    click_mask,
    sessions,
    user_buckets
FROM session_patterns
WHERE NOT is_open
