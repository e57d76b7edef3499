-- one row per configuration and click mask of clickassay's pattern table, with the configuration's text
SELECT
    c.market,
    c.query,
    c.results,
    p.click_mask,
    p.sessions
FROM patterns AS p
INNER JOIN configurations AS c ON p.configuration_id = c.configuration_id
