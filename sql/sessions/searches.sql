-- one row per search: usable, delivered once
SELECT
    n.search_fp,
    n.user_fp,
    n.query_fp,
    n.list_fp,
    n.time_ms,
    n.page,
    n.user_digest,
    n.normal_fp
FROM normal_searches AS n
ANTI JOIN repeated_ids AS i ON n.search_fp = i.search_fp
UNION ALL
SELECT
    r.search_fp,
    r.user_fp,
    r.query_fp,
    r.list_fp,
    r.time_ms,
    r.page,
    r.user_digest,
    r.normal_fp
FROM resolved_repeats AS r
