-- one row per search of a visit that may still grow whose query is left out, and what stands for its results
SELECT
    s.row_nr,
    left_out_results() AS results
FROM session_searches AS s
INNER JOIN searches_read AS r ON s.row_nr = r.row_nr
WHERE s.is_open AND NOT r.is_kept
