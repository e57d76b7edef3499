-- one row per search in searches_to_sessionise: its visit, counted from 0 within its scope, and whether that may still
-- grow after this batch
WITH earlier AS (
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
        active_until_ms,
        max(active_until_ms) OVER (
            PARTITION BY user_fp, CASE WHEN $per_query THEN query_fp END
            ORDER BY time_ms, search_id, search_fp
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS active_before_ms
    FROM searches_to_sessionise
),

numbered AS (
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
        active_until_ms,
        CAST(sum(CASE WHEN time_ms - active_before_ms > $idle_ms THEN 1 ELSE 0 END) OVER (
            PARTITION BY user_fp, CASE WHEN $per_query THEN query_fp END
            ORDER BY time_ms, search_id, search_fp
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS BIGINT) AS visit
    FROM earlier
)

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
    visit,
    max(active_until_ms) OVER (
        PARTITION BY user_fp, CASE WHEN $per_query THEN query_fp END, visit
    ) >= $watermark_ms - $idle_ms AS is_open
FROM numbered
