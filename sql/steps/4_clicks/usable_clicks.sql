-- one row per usable click of this batch
SELECT
    row_nr,
    carried,
    search_fp,
    time_ms,
    url_fp,
    place
FROM clicks_read
WHERE reason IS NULL
