-- one row: search ids whose own value is needed
SELECT CAST(count(*) AS BIGINT) AS n
FROM wanted_ids
