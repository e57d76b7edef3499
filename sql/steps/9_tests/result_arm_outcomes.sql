-- one row per arm of a test, day, fold and outcome: sessions with it, total and total of squares in thousandths
SELECT
    a.experiment,
    a.variant,
    date_of(a.day_nr) AS day, -- noqa: RF04
    a.fold,
    o.outcome,
    CAST(count(*) AS BIGINT) AS sessions,
    exact_sum(o.outcome_value) AS total,
    exact_sum_of_squares(o.outcome_value) AS total_of_squares
FROM session_arms AS a
INNER JOIN outcomes_of_sessions AS o ON a.first_nr = o.first_nr
WHERE NOT a.in_two AND a.is_open = $is_open
GROUP BY a.experiment, a.variant, a.day_nr, a.fold, o.outcome
