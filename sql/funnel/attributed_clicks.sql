-- one row per outcome of usable clicks whose search is known (ambiguous, in time, of an open session, with a place of
-- another result): clicks
SELECT
    c.ambiguous,
    c.in_time,
    coalesce(c.in_time AND s.is_open, FALSE) AS is_open,
    c.in_time AND c.is_misplaced AS is_misplaced,
    CAST(count(*) AS BIGINT) AS clicks
FROM attributed_clicks AS c
LEFT JOIN session_searches AS s ON c.search_nr = s.row_nr
WHERE c.ambiguous OR c.search_nr IS NOT NULL
GROUP BY c.ambiguous, c.in_time, coalesce(c.in_time AND s.is_open, FALSE), c.in_time AND c.is_misplaced
