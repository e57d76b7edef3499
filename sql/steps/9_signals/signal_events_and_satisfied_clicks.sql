-- one row per action in time that is a signal, and per satisfied click: its search, its position in that list, its URL;
-- satisfied clicks again without those that nothing follows, if these count
SELECT
    e.search_nr,
    e.action AS signal,
    e.position,
    e.url_fp
FROM attributed_events AS e
SEMI JOIN signal_actions AS a ON e.action = a.action
WHERE e.in_time
UNION ALL
SELECT
    search_nr,
    'satisfied' AS signal,
    position,
    url_fp
FROM dwell_times
WHERE is_satisfied
UNION ALL
SELECT
    search_nr,
    'satisfied if followed' AS signal,
    position,
    url_fp
FROM dwell_times
WHERE is_satisfied AND $last_click_counts AND NOT (until_next_ms IS NULL AND coalesce(given_ms, -1) < 0)
