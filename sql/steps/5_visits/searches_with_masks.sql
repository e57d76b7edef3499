-- one row per search with the mask of the clicks on its own results
SELECT
    s.row_nr,
    s.list_fp,
    s.page,
    s.user_id,
    coalesce(m.click_mask, 0) AS click_mask
FROM searches AS s
LEFT JOIN click_masks AS m ON s.row_nr = m.row_nr
