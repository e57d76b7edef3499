-- one row per usable search, delivery repeats included
SELECT
    search_fp,
    user_fp,
    query_fp,
    list_fp,
    time_ms,
    page,
    user_digest
FROM scanned_searches
WHERE reason IS NULL
