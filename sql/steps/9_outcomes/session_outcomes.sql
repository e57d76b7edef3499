-- one row per list as shown, fold, first or later page, open or closed, and outcome: sessions with it, the total of
-- their values in thousandths, and of the squares of these; the value of a rating is the mean of the session's rows
WITH every AS (
    SELECT
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
    GROUP BY user_fp, query_fp, visit, list_fp, page, user_id, is_open, outcome, is_rating
    UNION ALL
    SELECT
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
        list_fp,
        page,
        user_id,
        is_open,
        'reformulated' AS outcome,
        CAST(1000 AS BIGINT) AS outcome_value
    FROM reformulated_sessions
    WHERE holds_item($outcomes, 'reformulated')
),

digested AS (
    SELECT
        e.list_fp,
        e.page = 1 AS on_first_page,
        e.is_open,
        e.outcome,
        e.outcome_value,
        user_digest(e.user_id) AS digest
    FROM every AS e
)

SELECT
    list_fp,
    CAST(digest % $folds AS INTEGER) AS fold,
    on_first_page,
    is_open,
    outcome,
    CAST(count(*) AS BIGINT) AS sessions,
    exact_sum(outcome_value) AS total,
    exact_sum_of_squares(outcome_value) AS total_of_squares
FROM digested
GROUP BY list_fp, CAST(digest % $folds AS INTEGER), on_first_page, is_open, outcome
