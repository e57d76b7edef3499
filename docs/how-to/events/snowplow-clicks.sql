SELECT
    contexts_com_snowplowanalytics_snowplow_web_page_1[1].id AS search_id,
    derived_tstamp AS "timestamp",
    contexts_com_snowplowanalytics_snowplow_ecommerce_product_1[1].id AS url
FROM read_parquet('snowplow/*.parquet')
WHERE unstruct_event_com_snowplowanalytics_snowplow_ecommerce_snowplow_ecommerce_action_1.type = 'list_click'
ORDER BY "timestamp"
