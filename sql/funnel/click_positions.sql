-- one row per position (null = outside the list, 0 = query left out), first or later page, open or not: clicks in time
WITH landed AS (
    SELECT
        f.position,
        f.on_first_page,
        FALSE AS is_open
    FROM attributed_clicks AS f
    ANTI JOIN session_searches AS s ON f.search_nr = s.row_nr
    WHERE f.in_time
    UNION ALL
    SELECT
        c.position,
        c.on_first_page,
        c.is_open
    FROM session_clicks AS c
)

SELECT
    position,
    on_first_page,
    is_open,
    CAST(count(*) AS BIGINT) AS clicks
FROM landed
GROUP BY position, on_first_page, is_open
