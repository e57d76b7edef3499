-- one row per (user, normalised query) with more than one search: only these form sessions of several searches
SELECT
    s.user_fp,
    s.query_fp
FROM searches AS s
SEMI JOIN suspects AS p ON s.row_nr = p.row_nr -- all that may be repeated, and few others
GROUP BY s.user_fp, s.query_fp
HAVING count(*) > 1
