-- no row: no session has a signal other than clicks
SELECT
    first_nr,
    '' AS signal,
    click_mask
FROM sessions
WHERE FALSE
