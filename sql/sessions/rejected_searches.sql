-- one row per reason for which searches are unusable
SELECT
    reason,
    CAST(count(*) AS BIGINT) AS rows_rejected
FROM scanned_searches
WHERE reason IS NOT NULL
GROUP BY reason
