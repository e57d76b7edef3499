-- one row per (query, list) as shown that a session began with: its configuration
SELECT
    t.query_fp,
    t.list_fp,
    t.market,
    t.query,
    top_of(t.results, $depth) AS results,
    configuration_digest(t.market, t.query, top_of(t.results, $depth)) AS configuration_id
FROM shown_texts AS t
SEMI JOIN session_patterns AS s ON t.query_fp = s.query_fp AND t.list_fp = s.list_fp
