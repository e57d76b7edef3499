-- one row per list as shown that a session began with: its configuration
WITH begun AS (
    SELECT
        list_fp,
        max(CASE WHEN on_first_page THEN 1 ELSE 0 END) = 1 AS on_first_page
    FROM session_patterns
    GROUP BY list_fp
),

cut AS (
    SELECT
        t.list_fp,
        q.market,
        q.query,
        b.on_first_page,
        normal_results($normalise_urls, t.odd_urls, top_of(t.raw_results, $depth)) AS results
    FROM shown_texts AS t
    INNER JOIN begun AS b ON t.list_fp = b.list_fp
    INNER JOIN shown_queries AS q ON t.query_fp = q.query_fp
)

SELECT
    list_fp,
    market,
    query,
    results,
    on_first_page,
    configuration_digest(market, query, results) AS configuration_id
FROM cut
