-- no row: no session has a signal other than clicks
SELECT
    first_nr,
    '' AS signal,
    click_mask
FROM begun_sessions
WHERE FALSE
