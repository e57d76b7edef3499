-- one row per (market, query) as read: its normal form
WITH read_queries AS (
    SELECT DISTINCT
        query_fp,
        market,
        raw_query
    FROM shown_texts
)

SELECT
    query_fp,
    market,
    normalise_query(raw_query) AS query
FROM read_queries
