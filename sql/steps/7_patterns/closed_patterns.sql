-- one row of session_patterns per kind of session of this batch that cannot grow any more
SELECT
    list_fp,
    fold,
    on_first_page,
    click_mask,
    sessions,
    user_buckets
FROM session_patterns
WHERE NOT is_open
