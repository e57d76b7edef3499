-- one row per search whose (user, normalised query) is repeated or whose visit is open: its session, and how that began
WITH concerned AS (
    SELECT
        v.row_nr,
        v.search_id,
        v.search_fp,
        v.user_fp,
        v.query_fp,
        v.list_fp,
        v.time_ms,
        v.page,
        v.user_id,
        v.visit,
        v.is_open
    FROM visits AS v
    LEFT JOIN repeated_user_queries AS p ON v.user_fp = p.user_fp AND v.query_fp = p.query_fp
    WHERE v.is_open OR p.query_fp IS NOT NULL
    UNION ALL
    -- no visit of these users is numbered, and none was active late enough to be open
    SELECT
        row_nr,
        search_id,
        search_fp,
        user_fp,
        query_fp,
        list_fp,
        time_ms,
        page,
        user_id,
        CAST(0 AS BIGINT) AS visit,
        FALSE AS is_open
    FROM searches_in_one_session
)

SELECT
    row_nr,
    is_open,
    time_ms,
    user_id,
    -- the number of its first search names a session
    first_value(row_nr) OVER (PARTITION BY user_fp, query_fp, visit ORDER BY time_ms, search_id, search_fp) AS first_nr,
    first_value(list_fp) OVER (
        PARTITION BY user_fp, query_fp, visit
        ORDER BY time_ms, search_id, search_fp
    ) AS list_fp,
    first_value(page) OVER (PARTITION BY user_fp, query_fp, visit ORDER BY time_ms, search_id, search_fp) AS page
FROM concerned
