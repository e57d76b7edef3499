-- one row per session: the list it began with, and its click mask
SELECT
    s.list_fp,
    s.page,
    s.user_digest,
    coalesce(m.click_mask, 0) AS click_mask
FROM searches AS s
ANTI JOIN repeated_pairs AS p ON s.user_fp = p.user_fp AND s.normal_fp = p.normal_fp
LEFT JOIN search_masks AS m ON s.search_fp = m.search_fp
UNION ALL
SELECT
    s.list_fp,
    s.page,
    s.user_digest,
    coalesce(m.click_mask, 0) AS click_mask
FROM session_searches AS s
LEFT JOIN session_masks AS m ON s.user_fp = m.user_fp AND s.normal_fp = m.normal_fp AND s.visit = m.visit
WHERE s.place_in_session = 1
