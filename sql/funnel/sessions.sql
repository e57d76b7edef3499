-- one row per market, query kept or not, and first or later page: sessions formed
WITH formed AS (
    SELECT
        market,
        TRUE AS is_kept,
        TRUE AS on_first_page,
        first_page_sessions AS sessions
    FROM list_configurations
    UNION ALL
    SELECT
        market,
        TRUE AS is_kept,
        FALSE AS on_first_page,
        later_page_sessions AS sessions
    FROM list_configurations
    UNION ALL
    SELECT
        m.market,
        FALSE AS is_kept,
        s.on_first_page,
        s.sessions
    FROM chosen_patterns AS s
    INNER JOIN placeholder_lists AS m ON s.list_fp = m.list_fp
)

SELECT
    market,
    is_kept,
    on_first_page,
    CAST(sum(sessions) AS BIGINT) AS sessions
FROM formed
WHERE sessions > 0
GROUP BY market, is_kept, on_first_page
