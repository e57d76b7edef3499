-- one row per (user, normalised query) with more than one usable row: only these can form sessions of several searches
SELECT
    s.user_fp,
    coalesce(r.normal_fp, s.query_fp) AS normal_fp
FROM usable_searches AS s
LEFT JOIN renamed_queries AS r ON s.query_fp = r.query_fp
GROUP BY s.user_fp, coalesce(r.normal_fp, s.query_fp)
HAVING count(*) > 1
