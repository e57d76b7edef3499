-- a number with which the ids of two configurations begin: must be none
WITH named AS (
    SELECT DISTINCT
        c.configuration_nr,
        c.configuration_id
    FROM list_configurations AS c
    SEMI JOIN shared_configurations AS s ON c.configuration_nr = s.configuration_nr
)

SELECT configuration_nr
FROM named
GROUP BY configuration_nr
HAVING count(*) > 1
