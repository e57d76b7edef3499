-- one row per reason for which searches are unusable, over all batches
SELECT
    reason,
    CAST(sum(rows_rejected) AS BIGINT) AS rows_rejected
FROM rejected_searches
GROUP BY reason
