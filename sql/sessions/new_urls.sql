-- one row per clicked URL not seen in an earlier batch: the first row that has it
SELECT CAST(min(c.row_nr) AS BIGINT) AS row_nr
FROM scanned_clicks AS c
ANTI JOIN clicked_urls AS u ON c.url_fp = u.url_fp
WHERE c.reason IS NULL
GROUP BY c.url_fp
