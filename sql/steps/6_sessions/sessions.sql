-- one row per session: its first search, the list it began with, its click mask, and whether it may still grow
SELECT
    s.row_nr AS first_nr,
    s.list_fp,
    s.page,
    s.user_id,
    s.click_mask,
    FALSE AS is_open
FROM searches_with_masks AS s
ANTI JOIN session_searches AS p ON s.row_nr = p.row_nr
UNION ALL
SELECT
    s.row_nr AS first_nr,
    s.list_fp,
    s.page,
    s.user_id,
    coalesce(m.click_mask, 0) AS click_mask,
    s.is_open
FROM session_searches AS s
LEFT JOIN session_masks AS m ON s.row_nr = m.first_nr
WHERE s.row_nr = s.first_nr
