-- one row per arm of a test, list as shown, day, fold, signal and mask, open or closed: sessions; of clicks every one
WITH masks AS (
    SELECT
        experiment,
        variant,
        list_fp,
        day_nr,
        fold,
        is_open,
        'click' AS signal,
        click_mask
    FROM session_arms
    WHERE NOT in_two
    UNION ALL
    SELECT
        a.experiment,
        a.variant,
        a.list_fp,
        a.day_nr,
        a.fold,
        a.is_open,
        s.signal,
        s.click_mask
    FROM session_arms AS a
    INNER JOIN signals_of_sessions AS s ON a.first_nr = s.first_nr
    WHERE NOT a.in_two
)

SELECT
    experiment,
    variant,
    list_fp,
    day_nr,
    fold,
    is_open,
    signal,
    click_mask,
    CAST(count(*) AS BIGINT) AS sessions
FROM masks
GROUP BY experiment, variant, list_fp, day_nr, fold, is_open, signal, click_mask
