-- one row per session after whose last search the visit soon goes on with another query, without a click between
WITH ended AS (
    SELECT
        user_fp,
        query_fp,
        visit,
        is_open,
        list_fp,
        page,
        user_id,
        time_ms,
        next_ms
    FROM session_of_searches
    WHERE place_from_end = 1 AND next_ms - time_ms <= $reformulation_ms
),

clicked AS (
    SELECT DISTINCT
        e.user_fp,
        e.query_fp,
        e.visit
    FROM ended AS e
    INNER JOIN session_events AS c ON e.user_fp = c.user_fp AND e.query_fp = c.query_fp AND e.visit = c.visit
    WHERE c.time_ms BETWEEN e.time_ms AND e.next_ms
)

SELECT
    e.user_fp,
    e.query_fp,
    e.visit,
    e.is_open,
    e.list_fp,
    e.page,
    e.user_id
FROM ended AS e
ANTI JOIN clicked AS c ON e.user_fp = c.user_fp AND e.query_fp = c.query_fp AND e.visit = c.visit
