-- one row per row of begun_sessions and arm of a test: the arm that its user was in then; of users in two arms, both
WITH in_arms AS (
    SELECT
        b.first_nr,
        b.list_fp,
        b.click_mask,
        b.is_open,
        b.user_id,
        b.time_ms,
        b.experiment,
        b.variant,
        FALSE AS in_two
    FROM begun_sessions AS b
    ANTI JOIN users_in_two AS t ON b.user_id = t.user_id AND b.experiment = t.experiment
    WHERE b.variant IS NOT NULL
    UNION ALL
    SELECT
        b.first_nr,
        b.list_fp,
        b.click_mask,
        b.is_open,
        b.user_id,
        b.time_ms,
        a.experiment,
        a.variant,
        FALSE AS in_two
    FROM begun_sessions AS b
    INNER JOIN assignments_log AS a
        ON b.user_id = a.user_id AND b.time_ms >= a.since_ms AND b.time_ms < a.until_ms
    UNION ALL
    SELECT
        b.first_nr,
        b.list_fp,
        b.click_mask,
        b.is_open,
        b.user_id,
        b.time_ms,
        t.experiment,
        t.variant,
        TRUE AS in_two
    FROM begun_sessions AS b
    INNER JOIN users_in_two AS t ON b.user_id = t.user_id
)

SELECT
    a.first_nr,
    a.list_fp,
    a.click_mask,
    a.is_open,
    a.user_id,
    CAST(user_digest(a.user_id) % $folds AS INTEGER) AS fold,
    day_of(a.time_ms) AS day_nr,
    a.experiment,
    a.variant,
    a.in_two
FROM in_arms AS a
LEFT JOIN test_spans AS t ON a.experiment = t.experiment
WHERE t.experiment IS NULL OR (a.time_ms >= t.since_ms AND a.time_ms < t.until_ms)
