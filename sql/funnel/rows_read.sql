-- one row: searches and clicks of this batch, including those carried over
WITH counted AS (
    SELECT
        1 AS searches,
        0 AS clicks
    FROM searches_read
    UNION ALL
    SELECT
        0 AS searches,
        1 AS clicks
    FROM clicks_read
)

SELECT
    CAST(coalesce(sum(searches), 0) AS BIGINT) AS searches,
    CAST(coalesce(sum(clicks), 0) AS BIGINT) AS clicks
FROM counted
