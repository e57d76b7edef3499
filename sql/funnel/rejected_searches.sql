-- one row per reason for which searches of this batch are unusable
SELECT
    reason,
    CAST(count(*) AS BIGINT) AS rows_rejected
FROM searches_read
WHERE reason IS NOT NULL
GROUP BY reason
