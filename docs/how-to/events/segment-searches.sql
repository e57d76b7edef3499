-- Segment or RudderStack, calls of track as JSON lines, below segment/; their names of shop events.
-- A search is a Product List Viewed. Its query is of the last Products Searched before it, or of one that comes within
-- a second after it where none came within a second before. A login changes no user: anonymousId comes first.
WITH events AS (
    SELECT DISTINCT ON (messageId)
        messageId AS search_id,
        coalesce(anonymousId, userId) AS user_id,
        CAST("timestamp" AS TIMESTAMPTZ) AS time,
        event,
        properties
    FROM read_json('segment/*.jsonl', format = 'newline_delimited', columns = {
        'messageId': 'VARCHAR', 'type': 'VARCHAR', 'event': 'VARCHAR', 'timestamp': 'VARCHAR',
        'userId': 'VARCHAR', 'anonymousId': 'VARCHAR', 'properties': 'JSON'
    })
    WHERE type = 'track'
),

asked AS (
    SELECT user_id, time, max(properties ->> 'query') AS query
    FROM events
    WHERE event = 'Products Searched'
    GROUP BY user_id, time
),

lists AS (FROM events WHERE event = 'Product List Viewed' AND properties ->> 'list_id' = 'search')

SELECT
    l.search_id,
    l.user_id,
    CASE
        WHEN l.time - b.time <= INTERVAL 1 SECOND THEN b.query
        WHEN a.time - l.time <= INTERVAL 1 SECOND THEN a.query
        ELSE b.query
    END AS query,
    l.time AS "timestamp",
    list_transform(list_sort(list_transform(
        from_json(l.properties -> 'products', '[{"product_id": "VARCHAR", "position": "INTEGER"}]'),
        lambda p, k: {'place': p.position, 'in_array': k, 'id': p.product_id}
    )), lambda p: p.id) AS results
FROM lists AS l
ASOF LEFT JOIN asked AS b ON l.user_id = b.user_id AND l.time >= b.time     -- before
ASOF LEFT JOIN asked AS a ON l.user_id = a.user_id AND l.time < a.time      -- after
ORDER BY l.time, l.search_id
