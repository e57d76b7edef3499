-- one row per reason for which clicks are unusable, over all batches
SELECT
    reason,
    CAST(sum(rows_rejected) AS BIGINT) AS rows_rejected
FROM rejected_clicks
GROUP BY reason
