-- one row per fate of usable clicks
SELECT
    fate,
    CAST(count(*) AS BIGINT) AS clicks
FROM click_fates
GROUP BY fate
