-- one row per search of this batch that no earlier batch has read, repeated deliveries too: its search_id
WITH carried_before AS (
    SELECT
        search_fp,
        user_fp,
        time_ms
    FROM usable_searches
    WHERE carried
)

SELECT
    n.row_nr,
    n.search_fp
FROM usable_searches AS n
ANTI JOIN carried_before AS c ON n.search_fp = c.search_fp AND n.user_fp = c.user_fp AND n.time_ms = c.time_ms
WHERE NOT n.carried
