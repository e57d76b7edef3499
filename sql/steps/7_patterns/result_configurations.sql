-- one row per configuration, by its id
SELECT
    configuration_id,
    market,
    query,
    results
FROM configurations
-- an id begins with its number, and no two ids with the same one: the order is that of the ids
ORDER BY configuration_nr
