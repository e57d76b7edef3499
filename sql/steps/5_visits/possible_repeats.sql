-- one row per search whose (user, query) may recur in another search: here every search
SELECT
    user_fp,
    query_fp,
    time_ms
FROM searches
