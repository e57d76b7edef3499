-- one row per step and whether they may still change: clicks in time by what decided whether they are satisfied; equal
-- clicks once, and how many of them share their time with another event of their visit; dwell times of no use
WITH decided AS (
    SELECT
        CASE
            WHEN given_ms >= 0 THEN 'given'
            WHEN until_next_ms IS NULL THEN 'last click'
            ELSE 'next event'
        END AS step,
        is_open,
        CAST(count(*) AS BIGINT) AS clicks
    FROM dwell_times
    GROUP BY
        CASE WHEN given_ms >= 0 THEN 'given' WHEN until_next_ms IS NULL THEN 'last click' ELSE 'next event' END,
        is_open
),

every AS (
    SELECT
        step,
        is_open,
        clicks
    FROM decided
    UNION ALL
    SELECT
        'satisfied by last click' AS step,
        is_open,
        CAST(count(*) AS BIGINT) AS clicks
    FROM dwell_times
    WHERE is_satisfied AND until_next_ms IS NULL AND coalesce(given_ms, -1) < 0
    GROUP BY is_open
    UNION ALL
    SELECT
        'satisfied' AS step,
        is_open,
        CAST(count(*) AS BIGINT) AS clicks
    FROM dwell_times
    WHERE is_satisfied
    GROUP BY is_open
    UNION ALL
    SELECT
        'of no use' AS step,
        is_open,
        CAST(count(*) AS BIGINT) AS clicks
    FROM dwell_times
    WHERE given_ms < 0
    GROUP BY is_open
    UNION ALL
    SELECT
        'distinct' AS step,
        is_open,
        CAST(sum(clicks) AS BIGINT) AS clicks
    FROM visit_times
    GROUP BY is_open
    UNION ALL
    SELECT
        'at one time' AS step,
        is_open,
        CAST(sum(clicks) AS BIGINT) AS clicks
    FROM visit_times
    WHERE events > 1
    GROUP BY is_open
)

SELECT
    step,
    is_open,
    clicks
FROM every
WHERE clicks > 0
