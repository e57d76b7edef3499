-- one row per click or other action that is read again with the next batch: of an open visit, or its search may still
-- come
SELECT c.row_nr
FROM attributed_events AS c
LEFT JOIN session_searches AS s ON c.search_nr = s.row_nr
WHERE
    (c.in_time AND s.is_open)
    OR (NOT c.ambiguous AND c.search_nr IS NULL AND c.time_ms >= $watermark_ms - $idle_ms)
ORDER BY c.row_nr
