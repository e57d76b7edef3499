-- one row per (market, query) of this batch, in normal form
SELECT DISTINCT
    query_fp,
    market,
    query,
    query AS raw_query
FROM fingerprinted_searches
WHERE market IS NOT NULL AND query IS NOT NULL
