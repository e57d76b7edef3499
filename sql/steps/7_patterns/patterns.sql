-- one row per configuration, fold and click mask, where one list shows each configuration: the pattern table
SELECT
    c.configuration_nr,
    c.configuration_id,
    s.fold,
    s.click_mask,
    s.sessions
FROM chosen_patterns AS s
INNER JOIN list_configurations AS c ON s.list_fp = c.list_fp
WHERE s.on_first_page
