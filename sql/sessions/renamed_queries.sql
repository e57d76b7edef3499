-- one row per (market, query) read that is not the one by which its normal form goes: the least of its fingerprints
WITH named AS (
    SELECT
        query_fp,
        min(query_fp) OVER (PARTITION BY market, query) AS normal_fp
    FROM shown_queries
)

SELECT
    query_fp,
    normal_fp
FROM named
WHERE query_fp <> normal_fp
