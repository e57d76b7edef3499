-- one row per configuration and day: sessions that began then, by the ids of their configurations
WITH summed AS (
    SELECT
        c.configuration_nr,
        s.day_nr,
        CAST(sum(s.sessions) AS BIGINT) AS sessions
    FROM chosen_days AS s
    INNER JOIN list_configurations AS c ON s.list_fp = c.list_fp
    GROUP BY c.configuration_nr, s.day_nr
),

named AS (
    SELECT DISTINCT
        configuration_nr,
        configuration_id
    FROM list_configurations
    WHERE first_page_sessions > 0
)

SELECT
    n.configuration_id,
    date_of(s.day_nr) AS day, -- noqa: RF04
    s.sessions
FROM summed AS s
INNER JOIN named AS n ON s.configuration_nr = n.configuration_nr
-- an id begins with its number, and no two ids with the same one: the order is that of the ids
ORDER BY s.configuration_nr, s.day_nr
