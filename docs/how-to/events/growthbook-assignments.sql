-- Users by variation, each from its first exposure on; a user of two variations has two rows.
SELECT user_id, experiment_id AS experiment, variation_id AS variant, min("timestamp") AS "timestamp"
FROM exposures
GROUP BY ALL
