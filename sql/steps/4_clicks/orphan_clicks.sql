-- one row per search_id that clicks name but no search of this batch has: clicks, and whether the search may still come
SELECT
    search_fp,
    time_ms >= $watermark_ms - $idle_ms AS is_open,
    CAST(min(row_nr) AS BIGINT) AS row_nr,
    CAST(count(*) AS BIGINT) AS clicks
FROM attributed_clicks
WHERE NOT ambiguous AND search_nr IS NULL
GROUP BY search_fp, time_ms >= $watermark_ms - $idle_ms
