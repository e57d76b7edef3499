-- one row per market and page (first or later): sessions formed
SELECT
    c.market,
    s.on_first_page,
    CAST(sum(s.sessions) AS BIGINT) AS sessions
FROM session_patterns AS s
INNER JOIN session_configurations AS c ON s.list_fp = c.list_fp
GROUP BY c.market, s.on_first_page
