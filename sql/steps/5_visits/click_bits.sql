-- one row per click in time on the top results of its own search: the bit of its position
SELECT
    search_nr AS row_nr,
    position_bit(position) AS bits
FROM attributed_clicks
WHERE in_time AND position BETWEEN 1 AND $depth
