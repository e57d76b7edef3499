-- one row per search that shares user, query and time with another: its search_id breaks the tie
WITH counted AS (
    SELECT
        row_nr,
        count(*) OVER (PARTITION BY user_fp, query_fp, time_ms) AS searches
    FROM searches_to_sessionise
)

SELECT row_nr
FROM counted
WHERE searches > 1
