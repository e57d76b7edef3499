-- one row per session and outcome: its value in thousandths; that of a rating is the mean of the session's rows
SELECT
    first_nr,
    list_fp,
    page,
    user_id,
    is_open,
    outcome,
    CASE
        WHEN is_rating THEN rounded_mean(CAST(sum(outcome_value) AS BIGINT), CAST(sum(given_rows) AS BIGINT))
        ELSE CAST(sum(outcome_value) AS BIGINT)
    END AS outcome_value
FROM given_outcomes
GROUP BY first_nr, list_fp, page, user_id, is_open, outcome, is_rating
UNION ALL
SELECT
    first_nr,
    list_fp,
    page,
    user_id,
    is_open,
    'abandoned' AS outcome,
    CAST(1000 AS BIGINT) AS outcome_value
FROM abandoned_sessions
WHERE holds_item($outcomes, 'abandoned')
UNION ALL
SELECT
    first_nr,
    list_fp,
    page,
    user_id,
    is_open,
    'reformulated' AS outcome,
    CAST(1000 AS BIGINT) AS outcome_value
FROM reformulated_sessions
WHERE holds_item($outcomes, 'reformulated')
