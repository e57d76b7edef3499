-- Google Analytics 4, export to BigQuery, written from there as Parquet (EXPORT DATA), below ga4/.
-- A search is a view_item_list with search_term; GA4 gives it no id: user and time stand for it.
WITH lists AS (
    SELECT
        user_pseudo_id AS user_id,
        event_timestamp AS time_us,
        list_filter(event_params, lambda p: p.key = 'search_term')[1].value.string_value AS query,
        list_sort(list_transform(items, lambda i: {
            'place': TRY_CAST(i.item_list_index AS INTEGER), 'id': i.item_id
        })) AS shown
    FROM read_parquet('ga4/*.parquet')
    WHERE event_name = 'view_item_list'
)

SELECT DISTINCT ON (user_id, time_us)
    concat(user_id, '/', time_us) AS search_id,
    user_id,
    query,
    time_us // 1000 AS "timestamp",
    list_transform(shown, lambda i: i.id) AS results
FROM lists
WHERE query IS NOT NULL
ORDER BY time_us
