-- one row: searches and clicks of this batch, including those carried over
WITH searched AS (
    SELECT CAST(count(*) AS BIGINT) AS searches
    FROM searches_read
),

clicked AS (
    SELECT CAST(count(*) AS BIGINT) AS clicks
    FROM clicks_read
    WHERE action = 'click'
)

SELECT
    s.searches,
    c.clicks
FROM searched AS s
CROSS JOIN clicked AS c
