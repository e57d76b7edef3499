-- A click is a Product Clicked on the list of results; it belongs to the last such list of the user.
WITH events AS (
    SELECT DISTINCT ON (messageId)
        messageId AS id,
        coalesce(userId, anonymousId) AS user_id,
        CAST("timestamp" AS TIMESTAMPTZ) AS time,
        event,
        properties
    FROM read_json('segment/*.jsonl', format = 'newline_delimited', union_by_name = true)
    WHERE type = 'track' AND properties.list_id = 'search'
)

SELECT l.id AS search_id, c.time AS "timestamp", c.properties.product_id AS url
FROM (FROM events WHERE event = 'Product Clicked') AS c
ASOF JOIN (FROM events WHERE event = 'Product List Viewed') AS l ON c.user_id = l.user_id AND c.time >= l.time
