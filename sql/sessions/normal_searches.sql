-- one row per usable search with the fingerprint of its normalised query, delivery repeats included
SELECT
    s.search_fp,
    s.user_fp,
    s.query_fp,
    s.list_fp,
    s.time_ms,
    s.page,
    s.user_digest,
    coalesce(r.normal_fp, s.query_fp) AS normal_fp
FROM usable_searches AS s
LEFT JOIN renamed_queries AS r ON s.query_fp = r.query_fp
