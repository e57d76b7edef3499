-- one row per number of a configuration that more than one list shows
SELECT configuration_nr
FROM list_configurations
GROUP BY configuration_nr
HAVING count(*) > 1
