-- one row: searches, delivery repeats counted once
SELECT CAST(count(*) AS BIGINT) AS n
FROM searches
