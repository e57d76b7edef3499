-- one row per usable search of this batch, repeated deliveries included; the others are in rejected_searches
SELECT
    s.row_nr,
    s.carried,
    s.search_fp,
    s.user_fp,
    s.query_fp,
    s.raw_query_fp,
    s.list_fp,
    s.time_ms,
    s.page,
    s.is_kept,
    s.user_id
FROM searches_read AS s
ANTI JOIN rejected_searches AS r ON s.row_nr = r.row_nr
