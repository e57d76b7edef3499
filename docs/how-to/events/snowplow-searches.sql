-- Snowplow, enriched events as Parquet, below snowplow/: the plug-ins for shops and for site search.
-- A search is the first list of each site search of a page view, which has many on a single-page site: its id is the
-- page view and the time of the list. A site search that comes just after its list counts too.
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
        l.* EXCLUDE (query),
        CASE
            WHEN l.time - b.time <= INTERVAL 1 SECOND THEN b.time
            WHEN a.time - l.time <= INTERVAL 1 SECOND THEN a.time
            ELSE coalesce(b.time, a.time)
        END AS asked_at,
        CASE asked_at WHEN b.time THEN b.query ELSE a.query END AS query
    FROM (FROM events WHERE action = 'list_view') AS l
    ASOF LEFT JOIN asked AS b ON l.page = b.page AND l.time >= b.time       -- before
    ASOF LEFT JOIN asked AS a ON l.page = a.page AND l.time < a.time        -- after
),

searches AS (
    SELECT DISTINCT ON (page, asked_at) *, page || '/' || epoch_us(time) AS search_id
    FROM lists
    WHERE asked_at IS NOT NULL
    ORDER BY page, asked_at, time, len(products) DESC, products
)

SELECT
    search_id,
    user_id,
    query,
    time AS "timestamp",
    list_transform(list_sort(list_transform(
        products, lambda p, k: {'place': p.position, 'in_array': k, 'id': p.id}
    )), lambda p: p.id) AS results
FROM searches
ORDER BY time, search_id
