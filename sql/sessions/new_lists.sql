-- one row per (query, result list) not seen in an earlier batch: the first row that has it, usable or not
SELECT CAST(min(s.row_nr) AS BIGINT) AS row_nr
FROM searches_read AS s
ANTI JOIN shown_texts AS t ON s.query_fp = t.query_fp AND s.list_fp = t.list_fp
GROUP BY s.query_fp, s.list_fp
