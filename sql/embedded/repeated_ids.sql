-- one row per search_id that more than one row of the log may have
SELECT search_fp
FROM repeated_read
