-- one row per outcome and whether it may still change: rows that were given for a search of this batch
SELECT
    outcome,
    is_open,
    CAST(sum(given_rows) AS BIGINT) AS outcomes
FROM given_outcomes
GROUP BY outcome, is_open
