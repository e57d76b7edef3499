-- one row per (user, normalised query): the visits of all of them are to be formed
SELECT DISTINCT
    user_fp,
    query_fp
FROM searches
