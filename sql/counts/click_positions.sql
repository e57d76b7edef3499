-- one row per position and page (first or later): kept clicks that landed there; a null position is elsewhere
WITH landed AS (
    SELECT
        f.position,
        f.page
    FROM click_fates AS f
    ANTI JOIN session_searches AS s ON f.search_fp = s.search_fp
    WHERE f.fate = 'kept'
    UNION ALL
    SELECT
        c.position,
        c.page
    FROM session_clicks AS c
)

SELECT
    position,
    page = 1 AS on_first_page,
    CAST(count(*) AS BIGINT) AS clicks
FROM landed
GROUP BY position, page = 1
