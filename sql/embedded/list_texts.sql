-- one row per result list shown, by the fingerprint of the list and its query: its texts as they were read
SELECT
    list_fp,
    query_fp,
    has_unnormalised_urls,
    results AS raw_results
FROM texts_read
