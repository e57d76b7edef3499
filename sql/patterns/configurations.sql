-- one row per configuration
SELECT DISTINCT
    c.configuration_id,
    c.market,
    c.query,
    c.results
FROM session_configurations AS c
SEMI JOIN session_patterns AS s ON c.query_fp = s.query_fp AND c.list_fp = s.list_fp AND s.on_first_page
