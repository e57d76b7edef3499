-- one row per tied search: its search_id
SELECT
    s.row_nr,
    s.search_id
FROM searches_read AS s
SEMI JOIN tied_searches AS t ON s.row_nr = t.row_nr
