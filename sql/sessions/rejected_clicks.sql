-- one row per reason for which clicks are unusable
SELECT
    reason,
    CAST(count(*) AS BIGINT) AS rows_rejected
FROM scanned_clicks
WHERE reason IS NOT NULL
GROUP BY reason
