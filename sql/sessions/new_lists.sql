-- one row per result list that no earlier batch had: the first row that shows it, usable or not
SELECT
    list_fp,
    query_fp,
    row_nr
FROM batch_lists
WHERE is_new
