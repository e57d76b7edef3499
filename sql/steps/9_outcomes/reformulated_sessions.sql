-- one row per session after whose last search the visit soon goes on with another query, without a click between
WITH ended AS (
    SELECT
        first_nr,
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
    SELECT DISTINCT e.first_nr
    FROM ended AS e
    INNER JOIN session_events AS c ON e.first_nr = c.first_nr
    WHERE c.time_ms BETWEEN e.time_ms AND e.next_ms
)

SELECT
    e.first_nr,
    e.is_open,
    e.list_fp,
    e.page,
    e.user_id
FROM ended AS e
ANTI JOIN clicked AS c ON e.first_nr = c.first_nr
