-- one row per search with a click on its own top results: its click mask
SELECT
    row_nr,
    bit_or(bits) AS click_mask
FROM click_bits
GROUP BY row_nr
