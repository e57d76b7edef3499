-- one row per configuration, fold and click mask: the pattern table, by the ids of its configurations
WITH named AS (
    SELECT DISTINCT
        configuration_nr,
        configuration_id
    FROM list_configurations
    WHERE first_page_sessions > 0
)

SELECT
    n.configuration_id,
    p.fold,
    p.click_mask,
    p.sessions
FROM patterns AS p
INNER JOIN named AS n ON p.configuration_nr = n.configuration_nr
ORDER BY n.configuration_id, p.fold, p.click_mask
