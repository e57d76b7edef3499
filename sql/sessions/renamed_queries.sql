-- one row per (market, query) read whose normal form differs from what was read
SELECT DISTINCT
    query_fp,
    fingerprint_pair(market, query) AS normal_fp
FROM shown_texts
WHERE raw_query <> query
