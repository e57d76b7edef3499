-- one row per search: usable, delivered once
SELECT
    s.row_nr,
    s.carried,
    s.search_id,
    s.search_fp,
    s.user_fp,
    s.query_fp,
    s.list_fp,
    s.time_ms,
    s.page,
    s.is_kept,
    s.user_id,
    s.experiment,
    s.variant
FROM usable_searches AS s
ANTI JOIN duplicate_deliveries AS r ON s.row_nr = r.row_nr
