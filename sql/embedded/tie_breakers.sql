-- one row per tied search: its search_id
SELECT
    row_nr,
    search_id
FROM tied_read
