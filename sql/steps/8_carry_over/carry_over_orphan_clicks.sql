-- one row per search_id that clicks name but no search of this batch has: clicks, and whether the search may still come
SELECT
    c.search_id,
    CAST(sum(o.clicks) AS BIGINT) AS clicks,
    o.is_open
FROM orphan_clicks AS o
INNER JOIN clicks_read AS c ON o.row_nr = c.row_nr
GROUP BY c.search_id, o.is_open
ORDER BY o.is_open, c.search_id
