-- one row per (market, query) as read that is new in this batch: the first row that has it, usable or not
WITH read_queries AS (
    SELECT
        query_fp,
        CAST(min(row_nr) AS BIGINT) AS row_nr
    FROM searches_read
    GROUP BY query_fp
)

SELECT
    r.query_fp,
    r.row_nr
FROM read_queries AS r
ANTI JOIN query_texts AS q ON r.query_fp = q.query_fp
