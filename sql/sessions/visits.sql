-- one row per search of a user who repeats a query: the visit it belongs to, counted from 0 within its scope
WITH earlier AS (
    SELECT
        search_fp,
        user_fp,
        list_fp,
        time_ms,
        page,
        user_digest,
        normal_fp,
        search_id,
        max(active_until_ms) OVER (
            PARTITION BY user_fp, CASE WHEN $per_query THEN normal_fp END
            ORDER BY time_ms, search_id, search_fp
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS active_before_ms
    FROM searches_of_returning_users
)

SELECT
    search_fp,
    user_fp,
    list_fp,
    time_ms,
    page,
    user_digest,
    normal_fp,
    search_id,
    CAST(sum(CASE WHEN time_ms - active_before_ms > $idle_ms THEN 1 ELSE 0 END) OVER (
        PARTITION BY user_fp, CASE WHEN $per_query THEN normal_fp END
        ORDER BY time_ms, search_id, search_fp
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS BIGINT) AS visit
FROM earlier
