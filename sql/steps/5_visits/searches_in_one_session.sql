-- one row per search of a repeated (user, normalised query) whose visits need not be formed: they are one session
SELECT
    s.row_nr,
    s.search_id,
    s.search_fp,
    s.user_fp,
    s.query_fp,
    s.list_fp,
    s.time_ms,
    s.page,
    s.user_id
FROM searches AS s
SEMI JOIN repeated_user_queries AS r ON s.user_fp = r.user_fp AND s.query_fp = r.query_fp
ANTI JOIN user_queries_to_sessionise AS p ON s.user_fp = p.user_fp AND (NOT $per_query OR s.query_fp = p.query_fp)
