-- one row per usable click of this batch
SELECT
    row_nr,
    carried,
    search_fp,
    time_ms,
    url_fp,
    place
FROM usable_events
WHERE action = 'click'
