-- one row per search of this batch that is unusable: the first reason that applies
WITH faulty AS (
    SELECT
        row_nr,
        carried,
        CASE
            WHEN search_fp IS NULL THEN 'null search_id'
            WHEN user_fp IS NULL THEN 'null user_id'
            WHEN no_query THEN 'null query'
            WHEN time_ms IS NULL THEN 'null timestamp'
            WHEN time_ms < $first_ms OR time_ms >= $end_ms THEN 'time out of range'
            WHEN n_results IS NULL THEN 'null results'
            WHEN n_results = 0 THEN 'empty results'
            WHEN holds_null THEN 'null in results'
            WHEN no_market THEN 'null market'
            WHEN page IS NULL THEN 'null page'
        END AS reason
    FROM searches_read
)

SELECT
    row_nr,
    reason
FROM faulty
WHERE reason IS NOT NULL
