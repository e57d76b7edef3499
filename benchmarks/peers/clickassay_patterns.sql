-- one row per configuration and click mask of clickassay's pattern table, over all folds, with the configuration's text
SELECT
    c.market,
    c.query,
    c.results,
    p.click_mask,
    CAST(sum(p.sessions) AS BIGINT) AS sessions
FROM patterns AS p
INNER JOIN configurations AS c ON p.configuration_id = c.configuration_id
GROUP BY c.market, c.query, c.results, p.click_mask
