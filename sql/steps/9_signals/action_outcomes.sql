-- one row per usable action other than a click: what became of it, its name if it counts, and whether that may change
SELECT
    CASE
        WHEN NOT e.in_time THEN 'unmatched'
        WHEN a.action IS NULL THEN 'left out'
        ELSE 'kept'
    END AS step,
    CASE WHEN e.in_time AND a.action IS NOT NULL THEN e.action ELSE '' END AS reason,
    coalesce(e.in_time AND s.is_open, FALSE)
    OR (NOT e.ambiguous AND e.search_nr IS NULL AND e.time_ms >= $watermark_ms - $idle_ms) AS is_open
FROM attributed_events AS e
LEFT JOIN session_searches AS s ON e.search_nr = s.row_nr
LEFT JOIN signal_actions AS a ON e.action = a.action
WHERE e.action <> 'click'
