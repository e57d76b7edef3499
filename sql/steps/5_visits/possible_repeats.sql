-- one row per search whose (user, query) may be that of another: every search
SELECT
    user_fp,
    query_fp
FROM searches
