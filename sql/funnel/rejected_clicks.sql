-- one row per reason for which clicks of this batch are unusable
SELECT
    reason,
    CAST(count(*) AS BIGINT) AS rows_rejected
FROM rejected_clicks
GROUP BY reason
