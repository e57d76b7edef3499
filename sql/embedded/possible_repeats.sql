-- one row per search whose (user, query) may be that of another: all that are, and few others
SELECT
    s.user_fp,
    s.query_fp
FROM searches AS s
SEMI JOIN suspects AS p ON s.row_nr = p.row_nr
