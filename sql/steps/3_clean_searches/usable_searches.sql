-- one row per usable search of this batch, repeated deliveries included
SELECT
    row_nr,
    carried,
    search_id,
    search_fp,
    user_fp,
    query_fp,
    list_fp,
    time_ms,
    page,
    is_kept,
    user_id,
    experiment,
    variant,
    teams_fp,
    teams_fit
FROM searches_read
WHERE reason IS NULL
