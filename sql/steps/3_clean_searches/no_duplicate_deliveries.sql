-- no row: no search is delivered again
SELECT row_nr
FROM searches_read
WHERE FALSE
