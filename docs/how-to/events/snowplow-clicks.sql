-- A click is a list_click; it belongs to the last search before it on the same page view. A click after no search is
-- counted as of no usable search.
WITH events AS (
    SELECT
        contexts_com_snowplowanalytics_snowplow_web_page_1[1].id AS page,
        domain_userid AS user_id,
        derived_tstamp AS time,
        array_to_string(unstruct_event_com_snowplowanalytics_snowplow_site_search_1.terms, ' ') AS query,
        unstruct_event_com_snowplowanalytics_snowplow_ecommerce_snowplow_ecommerce_action_1.type AS action,
        contexts_com_snowplowanalytics_snowplow_ecommerce_product_1 AS products
    FROM read_parquet('snowplow/*.parquet')
),

asked AS (SELECT page, time, max(query) AS query FROM events WHERE query IS NOT NULL GROUP BY page, time),

lists AS (
    SELECT
        l.page,
        l.time,
        CASE
            WHEN l.time - b.time <= INTERVAL 1 SECOND THEN b.time
            WHEN a.time - l.time <= INTERVAL 1 SECOND THEN a.time
            ELSE coalesce(b.time, a.time)
        END AS asked_at
    FROM (FROM events WHERE action = 'list_view') AS l
    ASOF LEFT JOIN asked AS b ON l.page = b.page AND l.time >= b.time       -- before
    ASOF LEFT JOIN asked AS a ON l.page = a.page AND l.time < a.time        -- after
),

searches AS (
    SELECT DISTINCT ON (page, asked_at) *, page || '/' || epoch_us(time) AS search_id
    FROM lists
    WHERE asked_at IS NOT NULL
    ORDER BY page, asked_at, time
)

SELECT coalesce(s.search_id, c.page) AS search_id, c.time AS "timestamp", c.products[1].id AS url
FROM (FROM events WHERE action = 'list_click') AS c
ASOF LEFT JOIN searches AS s ON c.page = s.page AND c.time >= s.time
ORDER BY c.time
