-- one row per usable click of this batch; rejected_clicks has the others
SELECT
    search_fp,
    time_ms,
    url_fp,
    place
FROM clicks_read
WHERE
    search_fp IS NOT NULL
    AND time_ms >= $first_ms
    AND time_ms < $end_ms
    AND CASE WHEN $by_url THEN url_fp IS NOT NULL ELSE coalesce(place, 0) >= 1 END
