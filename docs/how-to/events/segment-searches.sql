-- Segment or RudderStack, calls of track as JSON lines, below segment/; their names of shop events.
-- A search is a Product List Viewed with the query of the Products Searched before it.
WITH events AS (
    SELECT DISTINCT ON (messageId)
        messageId AS search_id,
        coalesce(userId, anonymousId) AS user_id,
        CAST("timestamp" AS TIMESTAMPTZ) AS time,
        event,
        properties
    FROM read_json('segment/*.jsonl', format = 'newline_delimited', union_by_name = true)
    WHERE type = 'track'
),

asked AS (SELECT user_id, time, properties.query AS query FROM events WHERE event = 'Products Searched'),

lists AS (SELECT * FROM events WHERE event = 'Product List Viewed' AND properties.list_id = 'search')

SELECT
    l.search_id,
    l.user_id,
    a.query,
    l.time AS "timestamp",
    list_transform(
        list_sort(list_transform(l.properties.products, lambda p: {'place': p.position, 'id': p.product_id})),
        lambda p: p.id
    ) AS results
FROM lists AS l
ASOF JOIN asked AS a ON l.user_id = a.user_id AND l.time >= a.time
ORDER BY l.time
