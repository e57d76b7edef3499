-- ids of two configurations that begin with the same number: must be none
SELECT configuration_nr
FROM list_configurations
GROUP BY configuration_nr
HAVING min(configuration_id) <> max(configuration_id)
