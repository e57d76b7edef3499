-- A click is a Product Clicked on the list of results; it belongs to the last such list of the user. A click after
-- no list is counted as of no usable search.
WITH events AS (
    SELECT DISTINCT ON (messageId)
        messageId AS id,
        coalesce(anonymousId, userId) AS user_id,
        CAST("timestamp" AS TIMESTAMPTZ) AS time,
        event,
        properties ->> 'product_id' AS url
    FROM read_json('segment/*.jsonl', format = 'newline_delimited', columns = {
        'messageId': 'VARCHAR', 'type': 'VARCHAR', 'event': 'VARCHAR', 'timestamp': 'VARCHAR',
        'userId': 'VARCHAR', 'anonymousId': 'VARCHAR', 'properties': 'JSON'
    })
    WHERE type = 'track' AND properties ->> 'list_id' = 'search'
)

SELECT
    coalesce(
        last_value(CASE event WHEN 'Product List Viewed' THEN id END IGNORE NULLS) OVER (
            PARTITION BY user_id ORDER BY time, event DESC, id      -- lists before clicks
        ),
        user_id || '/none'
    ) AS search_id,
    time AS "timestamp",
    url
FROM events
WHERE event IN ('Product List Viewed', 'Product Clicked')
QUALIFY event = 'Product Clicked'
ORDER BY time, id
