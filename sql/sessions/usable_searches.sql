-- one row per usable search of this batch, delivery repeats included; rejected_searches has the others
SELECT
    search_fp,
    user_fp,
    query_fp,
    list_fp,
    time_ms,
    page,
    user_digest(user_id) AS user_digest
FROM searches_read
WHERE
    search_fp IS NOT NULL
    AND user_fp IS NOT NULL
    AND NOT no_query
    AND time_ms >= $first_ms
    AND time_ms < $end_ms
    AND n_results > 0
    AND NOT holds_null
    AND NOT no_market
    AND page IS NOT NULL
