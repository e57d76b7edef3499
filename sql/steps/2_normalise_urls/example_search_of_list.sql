-- one row per result list of this batch: a search that shows it
SELECT
    list_fp,
    min(search_fp) AS search_fp
FROM searches_read
WHERE is_kept AND search_fp IS NOT NULL AND n_results > 0 AND NOT holds_null AND NOT no_market AND NOT no_query
GROUP BY list_fp
