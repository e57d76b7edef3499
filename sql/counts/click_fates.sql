-- one row per fate of usable clicks
SELECT
    ambiguous,
    matched,
    coalesce(in_time, FALSE) AS in_time,
    CAST(count(*) AS BIGINT) AS clicks
FROM click_fates
GROUP BY ambiguous, matched, coalesce(in_time, FALSE)
