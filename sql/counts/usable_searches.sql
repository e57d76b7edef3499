-- one row: usable searches, delivery repeats included
SELECT CAST(count(*) AS BIGINT) AS n
FROM usable_searches
