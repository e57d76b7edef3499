-- one row per configuration, fold and click mask: the pattern table, by the ids of its configurations
SELECT
    configuration_id,
    fold,
    click_mask,
    sessions
FROM patterns
-- an id begins with its number, and no two ids with the same one: the order is that of the ids
ORDER BY configuration_nr, fold, click_mask
