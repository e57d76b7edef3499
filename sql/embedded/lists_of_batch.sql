-- one row per list of this batch whose query is kept: the first row that shows it, and whether it is new
WITH read_lists AS (
    SELECT
        list_fp,
        CAST(min(row_nr) AS BIGINT) AS row_nr,
        min(query_fp) AS query_fp,
        max(query_fp) AS last_query_fp
    FROM searches_read
    WHERE is_kept
    GROUP BY list_fp
)

SELECT
    r.list_fp,
    r.query_fp,
    r.row_nr,
    t.list_fp IS NULL AS is_new,
    r.query_fp <> r.last_query_fp OR coalesce(r.query_fp <> t.query_fp, FALSE) AS is_shared
FROM list_texts AS t
-- the lists of one batch on the right: those of all batches are many more
RIGHT JOIN read_lists AS r ON t.list_fp = r.list_fp -- noqa: CV08
