-- one row: searches of this batch that are usable, carried over and kept, and clicks carried over from an earlier batch
WITH counted AS (
    SELECT
        1 AS usable,
        CASE WHEN carried THEN 1 ELSE 0 END AS carried,
        0 AS kept,
        0 AS carried_clicks
    FROM usable_searches
    UNION ALL
    SELECT
        0 AS usable,
        0 AS carried,
        1 AS kept,
        0 AS carried_clicks
    FROM searches
    UNION ALL
    SELECT
        0 AS usable,
        0 AS carried,
        0 AS kept,
        CASE WHEN carried THEN 1 ELSE 0 END AS carried_clicks
    FROM clicks_read
)

SELECT
    CAST(coalesce(sum(usable), 0) AS BIGINT) AS usable,
    CAST(coalesce(sum(carried), 0) AS BIGINT) AS carried,
    CAST(coalesce(sum(kept), 0) AS BIGINT) AS kept,
    CAST(coalesce(sum(carried_clicks), 0) AS BIGINT) AS carried_clicks
FROM counted
