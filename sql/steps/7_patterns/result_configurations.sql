-- one row per configuration, by its id
SELECT
    configuration_id,
    market,
    query,
    results
FROM configurations
ORDER BY configuration_id
