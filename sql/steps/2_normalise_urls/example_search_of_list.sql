-- one row per result list of this batch: a usable search that shows it
SELECT
    list_fp,
    min(search_fp) AS search_fp
FROM searches_read
WHERE is_kept AND reason IS NULL
GROUP BY list_fp
