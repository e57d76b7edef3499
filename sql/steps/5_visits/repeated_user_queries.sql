-- one row per (user, normalised query) with more than one search: only these form sessions of several searches
SELECT
    user_fp,
    query_fp
FROM possible_repeats
GROUP BY user_fp, query_fp
HAVING count(*) > 1
