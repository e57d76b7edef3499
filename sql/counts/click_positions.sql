-- one row per position and page (first or later): kept clicks that landed there; a null position is elsewhere
WITH landed AS (
    SELECT
        f.position,
        f.on_first_page
    FROM click_fates AS f
    ANTI JOIN session_searches AS s ON f.search_fp = s.search_fp
    WHERE f.in_time
    UNION ALL
    SELECT
        c.position,
        c.on_first_page
    FROM session_clicks AS c
)

SELECT
    position,
    on_first_page,
    CAST(count(*) AS BIGINT) AS clicks
FROM landed
GROUP BY position, on_first_page
