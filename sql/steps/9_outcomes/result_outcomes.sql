-- one row per configuration, fold and outcome: sessions with it, total and total of squares in thousandths
WITH summed AS (
    SELECT
        c.configuration_nr,
        s.fold,
        s.outcome,
        CAST(sum(s.sessions) AS BIGINT) AS sessions,
        exact_total(s.total) AS total,
        exact_total(s.total_of_squares) AS total_of_squares
    FROM chosen_outcomes AS s
    INNER JOIN list_configurations AS c ON s.list_fp = c.list_fp
    WHERE s.on_first_page
    GROUP BY c.configuration_nr, s.fold, s.outcome
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
    s.fold,
    s.outcome,
    s.sessions,
    s.total,
    s.total_of_squares
FROM summed AS s
INNER JOIN named AS n ON s.configuration_nr = n.configuration_nr
-- an id begins with its number, and no two ids with the same one: the order is that of the ids
ORDER BY s.configuration_nr, s.fold, s.outcome
