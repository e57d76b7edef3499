-- one row per market with a query that is left out: the placeholder of all lists of such queries
SELECT DISTINCT
    market,
    list_fp
FROM placeholders_read
