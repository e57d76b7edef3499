-- A click is a select_item; it belongs to the last list before it that the same user saw.
WITH lists AS (
    SELECT user_pseudo_id AS user_id, event_timestamp AS time_us
    FROM read_parquet('ga4/*.parquet')
    WHERE
        event_name = 'view_item_list'
        AND len(list_filter(event_params, lambda p: p.key = 'search_term')) > 0
),

clicks AS (
    SELECT user_pseudo_id AS user_id, event_timestamp AS time_us, items[1].item_id AS url
    FROM read_parquet('ga4/*.parquet')
    WHERE event_name = 'select_item'
)

SELECT concat(c.user_id, '/', l.time_us) AS search_id, c.time_us // 1000 AS "timestamp", c.url
FROM clicks AS c
ASOF JOIN lists AS l ON c.user_id = l.user_id AND c.time_us >= l.time_us
