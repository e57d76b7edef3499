-- one row per market with a query that is left out: the number that stands for all its lists
SELECT DISTINCT
    market,
    list_fp
FROM left_out_read
