-- one row per (market, query) of this batch, in normal form, that a list is shown for
SELECT DISTINCT
    query_fp,
    market,
    query
FROM list_texts
