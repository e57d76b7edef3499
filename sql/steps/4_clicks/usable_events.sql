-- one row per usable click of this batch, or other action
SELECT
    row_nr,
    carried,
    search_fp,
    time_ms,
    url_fp,
    place,
    action,
    dwell_ms
FROM clicks_read
WHERE reason IS NULL
