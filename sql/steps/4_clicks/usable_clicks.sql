-- one row per usable click of this batch; the others are in rejected_clicks
SELECT
    c.row_nr,
    c.carried,
    c.search_fp,
    c.time_ms,
    c.url_fp,
    c.place
FROM clicks_read AS c
ANTI JOIN rejected_clicks AS r ON c.row_nr = r.row_nr
