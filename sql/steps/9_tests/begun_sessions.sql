-- one row per session on the first page of a query that is kept, and per such search without results: its first search
WITH empty_searches AS (
    SELECT
        row_nr,
        list_fp,
        user_id,
        time_ms,
        experiment,
        variant,
        row_number() OVER (
            PARTITION BY search_fp, user_fp, time_ms
            ORDER BY coalesce(experiment, ''), coalesce(variant, ''), row_nr
        ) AS delivery
    FROM searches_read
    WHERE reason = 'empty results' AND coalesce(page, 1) = 1 AND is_kept
)

SELECT
    s.first_nr,
    s.list_fp,
    s.click_mask,
    s.is_open,
    r.user_id,
    r.time_ms,
    r.experiment,
    r.variant
FROM sessions AS s
INNER JOIN searches_read AS r ON s.first_nr = r.row_nr
WHERE s.page = 1 AND r.is_kept
UNION ALL
SELECT
    row_nr AS first_nr,
    list_fp,
    CAST(0 AS BIGINT) AS click_mask,
    FALSE AS is_open,
    user_id,
    time_ms,
    experiment,
    variant
FROM empty_searches
WHERE delivery = 1
