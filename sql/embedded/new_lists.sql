-- one row per result list that is new in this batch: the first row that shows it, usable or not
SELECT
    list_fp,
    query_fp,
    row_nr
FROM lists_of_batch
WHERE is_new
