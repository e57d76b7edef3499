-- one row per kind of orphan clicks (their search may still come, or not): clicks whose search_id is not in this batch
SELECT
    is_open,
    CAST(sum(clicks) AS BIGINT) AS clicks
FROM orphan_clicks
GROUP BY is_open
