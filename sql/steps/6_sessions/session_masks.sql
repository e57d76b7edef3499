-- one row per session of session_searches with a click on its top results: its click mask
SELECT
    first_nr,
    bit_or(position_bit(position)) AS click_mask
FROM session_clicks
WHERE position BETWEEN 1 AND $depth
GROUP BY first_nr
