-- one row per arm of a test, day, fold, signal and mask: sessions
SELECT
    experiment,
    variant,
    date_of(day_nr) AS day, -- noqa: RF04
    fold,
    signal,
    click_mask,
    CAST(sum(sessions) AS BIGINT) AS sessions
FROM arm_sessions
WHERE is_open = $is_open
GROUP BY experiment, variant, day_nr, fold, signal, click_mask
