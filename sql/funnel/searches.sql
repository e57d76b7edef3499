-- one row: searches of this batch that are usable, carried over and kept, and clicks carried over from an earlier batch
WITH counted_searches AS (
    SELECT
        CAST(count(*) AS BIGINT) AS usable,
        CAST(coalesce(sum(CASE WHEN carried THEN 1 ELSE 0 END), 0) AS BIGINT) AS carried
    FROM usable_searches
),

kept_searches AS (
    SELECT CAST(count(*) AS BIGINT) AS kept
    FROM searches
),

counted_clicks AS (
    SELECT CAST(coalesce(sum(CASE WHEN carried THEN 1 ELSE 0 END), 0) AS BIGINT) AS carried_clicks
    FROM clicks_read
)

SELECT
    u.usable,
    u.carried,
    k.kept,
    c.carried_clicks
FROM counted_searches AS u
CROSS JOIN kept_searches AS k
CROSS JOIN counted_clicks AS c
