-- one row per configuration (by the number that its id begins with), fold and click mask: the pattern table
SELECT
    c.configuration_nr,
    s.fold,
    s.click_mask,
    CAST(sum(s.sessions) AS BIGINT) AS sessions
FROM chosen_patterns AS s
INNER JOIN list_configurations AS c ON s.list_fp = c.list_fp
WHERE s.on_first_page
GROUP BY c.configuration_nr, s.fold, s.click_mask
