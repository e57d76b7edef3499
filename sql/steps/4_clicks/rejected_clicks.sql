-- one row per click of this batch that is unusable: the first reason that applies
WITH faulty AS (
    SELECT
        row_nr,
        CASE
            WHEN search_fp IS NULL THEN 'null search_id'
            WHEN time_ms IS NULL THEN 'null timestamp'
            WHEN time_ms < $first_ms OR time_ms >= $end_ms THEN 'time out of range'
            WHEN $by_url AND url_fp IS NULL THEN 'null url'
            WHEN NOT $by_url AND place IS NULL THEN 'null position'
            WHEN NOT $by_url AND place < 1 THEN 'position below 1'
        END AS reason
    FROM clicks_read
)

SELECT
    row_nr,
    reason
FROM faulty
WHERE reason IS NOT NULL
