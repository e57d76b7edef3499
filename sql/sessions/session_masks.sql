-- one row per session of several searches with a click on its top results: its click mask
SELECT
    user_fp,
    normal_fp,
    visit,
    bit_or(position_bit(position)) AS click_mask
FROM session_clicks
WHERE on_top
GROUP BY user_fp, normal_fp, visit
