-- one row per search of a visit that may still grow: it is read again with the next batch
SELECT row_nr
FROM session_searches
WHERE is_open
ORDER BY row_nr
