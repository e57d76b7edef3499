-- A click is a select_item; it belongs to the last list before it that the same user saw. A click after no list is
-- counted as of no usable search, one without a user is rejected.
WITH events AS (
    SELECT NULL::BIGINT AS batch_page_id, NULL::BIGINT AS batch_event_index WHERE false
    UNION ALL BY NAME
    FROM read_parquet('ga4/*.parquet', union_by_name = true, filename = true, file_row_number = true)
),

pieces AS (
    SELECT
        user_pseudo_id AS user_id,
        event_timestamp AS time_us,
        row_number() OVER (ORDER BY time_us, batch_page_id, batch_event_index, filename, file_row_number) AS n,
        concat_ws('/', user_id, time_us, batch_page_id, batch_event_index) AS id,
        event_name = 'select_item' AS is_click,
        list_transform(list_filter(event_params, lambda p: p.key = 'search_term'), lambda p: coalesce(
            p.value.string_value, p.value.int_value::VARCHAR, p.value.float_value::VARCHAR,
            p.value.double_value::VARCHAR
        ))[1] AS query,
        items[1].item_id AS url
    FROM events
    WHERE is_click OR event_name = 'view_item_list' AND query IS NOT NULL
),

begun AS (
    SELECT
        *,
        concat_ws('/', id, nullif(row_number() OVER (PARTITION BY is_click, id ORDER BY n), 1)) AS list,
        coalesce(time_us - lag(time_us) OVER (PARTITION BY is_click, user_id, query ORDER BY n) <= 1000000, false)
            AS goes_on
    FROM pieces
),

lists AS (
    SELECT
        *,
        last_value(CASE WHEN NOT is_click AND NOT goes_on THEN list END IGNORE NULLS) OVER (
            PARTITION BY is_click, user_id, query ORDER BY n
        ) AS search_id
    FROM begun
),

seen AS (
    SELECT *, last_value(search_id IGNORE NULLS) OVER (PARTITION BY user_id ORDER BY n) AS of_search FROM lists
)

SELECT
    CASE WHEN user_id IS NOT NULL THEN coalesce(of_search, user_id || '/none') END AS search_id,
    time_us // 1000 AS "timestamp",
    url
FROM seen
WHERE is_click
ORDER BY n
