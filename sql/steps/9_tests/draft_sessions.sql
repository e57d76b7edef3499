-- one row per list as shown, its rankers, fold, signal and mask, open or closed: sessions that count; of clicks each
WITH masks AS (
    SELECT
        teams_fp,
        list_fp,
        fold,
        is_open,
        'click' AS signal,
        click_mask
    FROM drafted_sessions
    WHERE fault IS NULL
    UNION ALL
    SELECT
        d.teams_fp,
        d.list_fp,
        d.fold,
        d.is_open,
        s.signal,
        s.click_mask
    FROM drafted_sessions AS d
    INNER JOIN signals_of_sessions AS s ON d.first_nr = s.first_nr
    WHERE d.fault IS NULL
)

SELECT
    teams_fp,
    list_fp,
    fold,
    is_open,
    signal,
    click_mask,
    CAST(count(*) AS BIGINT) AS sessions
FROM masks
GROUP BY teams_fp, list_fp, fold, is_open, signal, click_mask
