-- one row per search that shares user, query and time with another: its search_id breaks the tie
WITH concerned AS (
    SELECT
        row_nr,
        user_fp,
        query_fp,
        time_ms
    FROM searches_to_sessionise
    UNION ALL
    SELECT
        row_nr,
        user_fp,
        query_fp,
        time_ms
    FROM searches_in_one_session
),

ties AS (
    SELECT
        user_fp,
        query_fp,
        time_ms
    FROM concerned
    GROUP BY user_fp, query_fp, time_ms
    HAVING count(*) > 1
)

SELECT c.row_nr
FROM concerned AS c
SEMI JOIN ties AS t ON c.user_fp = t.user_fp AND c.query_fp = t.query_fp AND c.time_ms = t.time_ms
