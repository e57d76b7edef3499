-- one row per search with a click on its own top results: its click mask
SELECT
    search_fp,
    bit_or(position_bit(position)) AS click_mask
FROM click_fates
WHERE in_time AND position <= $depth
GROUP BY search_fp
