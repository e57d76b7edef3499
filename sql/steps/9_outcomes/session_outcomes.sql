-- one row per list as shown, fold, first or later page, open or closed, and outcome: sessions with it, the total of
-- their values in thousandths, and of the squares of these
WITH digested AS (
    SELECT
        list_fp,
        page = 1 AS on_first_page,
        is_open,
        outcome,
        outcome_value,
        user_digest(user_id) AS digest
    FROM outcomes_of_sessions
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
