-- one row per (query, result list) shown, by the fingerprint of both: its texts as they were read
SELECT
    query_fp,
    list_fp,
    odd_urls,
    market,
    query AS raw_query,
    results AS raw_results
FROM texts_read
