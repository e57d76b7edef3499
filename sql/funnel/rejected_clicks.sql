-- one row per reason for which clicks of this batch are unusable
SELECT
    reason,
    CAST(count(*) AS BIGINT) AS rows_rejected
FROM clicks_read
WHERE action = 'click' AND reason IS NOT NULL
GROUP BY reason
