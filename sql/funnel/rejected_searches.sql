-- one row per reason for which searches of this batch are unusable
SELECT
    reason,
    CAST(count(*) AS BIGINT) AS rows_rejected
FROM rejected_searches
GROUP BY reason
