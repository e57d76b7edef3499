-- one row per search: its session, the list, page and user that this began with, and the next search of the visit
SELECT
    row_nr,
    search_fp,
    is_open,
    time_ms,
    first_value(row_nr) OVER (PARTITION BY user_fp, query_fp, visit ORDER BY time_ms, search_id, search_fp) AS first_nr,
    first_value(list_fp) OVER (
        PARTITION BY user_fp, query_fp, visit
        ORDER BY time_ms, search_id, search_fp
    ) AS list_fp,
    first_value(page) OVER (PARTITION BY user_fp, query_fp, visit ORDER BY time_ms, search_id, search_fp) AS page,
    user_id,
    row_number() OVER (
        PARTITION BY user_fp, query_fp, visit
        ORDER BY time_ms DESC, search_id DESC, search_fp DESC
    ) AS place_from_end,
    lead(time_ms) OVER (PARTITION BY user_fp, visit ORDER BY time_ms, search_id, search_fp) AS next_ms
FROM visits
