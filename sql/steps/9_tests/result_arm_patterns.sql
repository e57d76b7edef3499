-- one row per arm of a test, configuration, fold, signal and mask: sessions
SELECT
    s.experiment,
    s.variant,
    c.configuration_id,
    s.fold,
    s.signal,
    s.click_mask,
    CAST(sum(s.sessions) AS BIGINT) AS sessions
FROM arm_sessions AS s
INNER JOIN list_configurations AS c ON s.list_fp = c.list_fp
WHERE s.is_open = $is_open
GROUP BY s.experiment, s.variant, c.configuration_nr, c.configuration_id, s.fold, s.signal, s.click_mask
-- an id begins with its number, and no two ids with the same one: the order is that of the ids
ORDER BY s.experiment, s.variant, c.configuration_nr, s.fold, s.signal, s.click_mask
