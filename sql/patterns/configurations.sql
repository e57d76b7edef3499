-- one row per configuration: the texts of one of the lists that show it
WITH chosen AS (
    SELECT min(list_fp) AS list_fp
    FROM session_configurations
    WHERE on_first_page
    GROUP BY configuration_id
)

SELECT
    s.configuration_id,
    s.market,
    s.query,
    s.results
FROM session_configurations AS s
SEMI JOIN chosen AS c ON s.list_fp = c.list_fp
