-- Google Analytics 4, export to BigQuery, written from there as Parquet (EXPORT DATA), below ga4/.
-- A search is a view_item_list with search_term; GA4 gives it no id: user, time and place in the batch stand for it.
-- Lists of one user and term within a second are pieces of one. Lists without a user (no consent) are rejected.
WITH events AS (
    SELECT NULL::BIGINT AS batch_page_id, NULL::BIGINT AS batch_event_index WHERE false -- older exports lack them
    UNION ALL BY NAME
    FROM read_parquet('ga4/*.parquet', union_by_name = true, filename = true, file_row_number = true)
),

pieces AS (
    SELECT
        user_pseudo_id AS user_id,
        event_timestamp AS time_us,
        row_number() OVER (ORDER BY time_us, batch_page_id, batch_event_index, filename, file_row_number) AS n,
        concat_ws('/', user_id, time_us, batch_page_id, batch_event_index) AS id,
        list_transform(list_filter(event_params, lambda p: p.key = 'search_term'), lambda p: coalesce(
            p.value.string_value, p.value.int_value::VARCHAR, p.value.float_value::VARCHAR,
            p.value.double_value::VARCHAR
        ))[1] AS query,
        list_transform(list_sort(list_transform(items, lambda i, k: {
            'place': TRY_CAST(i.item_list_index AS INTEGER), 'in_array': k, 'id': i.item_id
        })), lambda i: i.id) AS shown
    FROM events
    WHERE event_name = 'view_item_list' AND query IS NOT NULL
),

begun AS (
    SELECT
        * REPLACE (concat_ws('/', id, nullif(row_number() OVER (PARTITION BY id ORDER BY n), 1)) AS id),
        coalesce(user_id IS NOT NULL AND time_us - lag(time_us) OVER same <= 1000000, false) AS goes_on,
        goes_on AND shown = lag(shown) OVER same AS again
    FROM pieces
    WINDOW same AS (PARTITION BY user_id, query ORDER BY n)
),

lists AS (SELECT *, count_if(NOT goes_on) OVER (PARTITION BY user_id, query ORDER BY n) AS list FROM begun)

SELECT
    arg_min(id, n) AS search_id,
    user_id,
    query,
    min(time_us) // 1000 AS "timestamp",
    flatten(list(shown ORDER BY n) FILTER (NOT again)) AS results
FROM lists
GROUP BY user_id, query, list
ORDER BY min(n)
