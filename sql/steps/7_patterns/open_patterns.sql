-- one row of session_patterns per kind of session that may still grow: what it is if the log ends here
SELECT
    list_fp,
    fold,
    on_first_page,
    click_mask,
    sessions,
    user_buckets
FROM session_patterns
WHERE is_open
