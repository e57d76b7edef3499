-- one row per search whose (user, query) may recur in another search: all that do, few others
SELECT
    s.user_fp,
    s.query_fp,
    s.time_ms
FROM searches AS s
SEMI JOIN repeats_read AS p ON s.row_nr = p.row_nr
