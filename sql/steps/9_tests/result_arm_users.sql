-- one row per arm of a test and user: the user's digest
WITH users AS (
    SELECT DISTINCT
        experiment,
        variant,
        user_id
    FROM session_arms
    WHERE is_open = $is_open
)

SELECT
    experiment,
    variant,
    salted_digest(user_id) AS digest
FROM users
