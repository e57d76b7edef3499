-- one row per fate of usable clicks
SELECT
    ambiguous,
    has_search,
    coalesce(in_time, FALSE) AS in_time,
    CAST(count(*) AS BIGINT) AS clicks
FROM click_fates
GROUP BY ambiguous, has_search, coalesce(in_time, FALSE)
