-- one row per (market, query) of this batch, in normal form, whether its searches are usable or not
SELECT DISTINCT
    query_fp,
    market,
    query
FROM fingerprinted_searches
WHERE market IS NOT NULL AND query IS NOT NULL
