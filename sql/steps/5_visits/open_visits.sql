-- one row per visit that may still grow after this batch
SELECT
    user_fp,
    CASE WHEN $per_query THEN query_fp END AS scope_fp,
    visit
FROM visits
GROUP BY user_fp, CASE WHEN $per_query THEN query_fp END, visit
HAVING max(active_until_ms) >= $watermark_ms - $idle_ms
