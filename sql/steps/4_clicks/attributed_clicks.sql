-- one row per usable click: what became of it
SELECT
    row_nr,
    search_fp,
    time_ms,
    dwell_ms,
    ambiguous,
    search_nr,
    in_time,
    on_first_page,
    is_misplaced,
    url_fp,
    position
FROM attributed_events
WHERE action = 'click'
