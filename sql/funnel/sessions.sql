-- one row per market, query kept or not, and first or later page: sessions formed
SELECT
    q.market,
    TRUE AS is_kept,
    s.on_first_page,
    CAST(sum(s.sessions) AS BIGINT) AS sessions
FROM chosen_patterns AS s
INNER JOIN list_configurations AS c ON s.list_fp = c.list_fp
INNER JOIN query_texts AS q ON c.query_fp = q.query_fp
GROUP BY q.market, s.on_first_page
UNION ALL
SELECT
    m.market,
    FALSE AS is_kept,
    s.on_first_page,
    CAST(sum(s.sessions) AS BIGINT) AS sessions
FROM chosen_patterns AS s
INNER JOIN placeholder_lists AS m ON s.list_fp = m.list_fp
GROUP BY m.market, s.on_first_page
