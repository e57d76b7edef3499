-- a number with which the ids of two configurations begin: must be none
WITH named AS (
    SELECT DISTINCT
        configuration_nr,
        configuration_id
    FROM list_configurations
)

SELECT configuration_nr
FROM named
GROUP BY configuration_nr
HAVING count(*) > 1
