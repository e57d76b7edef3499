-- one row per whether their search may still come: clicks whose search_id no search of this batch has
SELECT
    is_open,
    CAST(sum(clicks) AS BIGINT) AS clicks
FROM orphan_clicks
GROUP BY is_open
