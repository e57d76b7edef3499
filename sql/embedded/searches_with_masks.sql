-- one row per search with the mask of the clicks on its own results, which the reader keeps with its row
SELECT
    row_nr,
    list_fp,
    page,
    user_id,
    click_mask
FROM searches
