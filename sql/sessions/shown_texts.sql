-- one row per (query, result list) shown: its texts, normalised
SELECT
    query_fp,
    list_fp,
    market,
    query AS raw_query,
    normalise_query(query) AS query,
    CASE WHEN $normalise_urls THEN normalise_urls(results) ELSE results END AS results
FROM texts_read
