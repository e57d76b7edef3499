-- one row per session: the list it began with, its click mask, and whether it may still grow
SELECT
    s.list_fp,
    s.page,
    s.user_id,
    s.click_mask,
    FALSE AS is_open
FROM searches_with_masks AS s
ANTI JOIN session_searches AS p ON s.row_nr = p.row_nr
UNION ALL
SELECT
    s.list_fp,
    s.page,
    s.user_id,
    coalesce(m.click_mask, 0) AS click_mask,
    s.is_open
FROM session_searches AS s
LEFT JOIN session_masks AS m ON s.user_fp = m.user_fp AND s.query_fp = m.query_fp AND s.visit = m.visit
WHERE s.place_in_session = 1
