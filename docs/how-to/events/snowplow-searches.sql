-- Snowplow, enriched events as Parquet, below snowplow/: the plug-ins for shops and for site search.
-- The id of the page view joins the query, the list and its clicks.
WITH events AS (
    SELECT
        contexts_com_snowplowanalytics_snowplow_web_page_1[1].id AS search_id,
        domain_userid AS user_id,
        derived_tstamp AS time,
        unstruct_event_com_snowplowanalytics_snowplow_site_search_1.terms AS terms,
        unstruct_event_com_snowplowanalytics_snowplow_ecommerce_snowplow_ecommerce_action_1.type AS action,
        contexts_com_snowplowanalytics_snowplow_ecommerce_product_1 AS products
    FROM read_parquet('snowplow/*.parquet')
),

asked AS (SELECT search_id, any_value(terms) AS terms FROM events WHERE terms IS NOT NULL GROUP BY search_id)

SELECT
    e.search_id,
    any_value(e.user_id) AS user_id,
    any_value(array_to_string(a.terms, ' ')) AS query,
    min(e.time) AS "timestamp",
    list_transform(
        list_sort(list_transform(arg_min(e.products, e.time), lambda p: {'place': p.position, 'id': p.id})),
        lambda p: p.id
    ) AS results
FROM events AS e
INNER JOIN asked AS a ON e.search_id = a.search_id
WHERE e.action = 'list_view'
GROUP BY e.search_id
ORDER BY "timestamp"
