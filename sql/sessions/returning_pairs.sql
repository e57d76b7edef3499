-- one row per (user, normalised query) whose visits must be told apart: repeated, or still open when the batch ends
SELECT
    user_fp,
    query_fp
FROM repeated_pairs
UNION
SELECT
    user_fp,
    query_fp
FROM searches
WHERE time_ms >= $watermark_ms - 2 * $idle_ms
