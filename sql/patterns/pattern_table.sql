-- one row per configuration, fold and click mask: the pattern table, by the ids of its configurations
SELECT
    c.configuration_id,
    p.fold,
    p.click_mask,
    p.sessions
FROM patterns AS p
INNER JOIN configurations AS c ON p.configuration_nr = c.configuration_nr
ORDER BY c.configuration_id, p.fold, p.click_mask
