-- one row: rows of the sums
SELECT CAST(count(*) AS BIGINT) AS n
FROM closed_patterns
