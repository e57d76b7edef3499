-- one row per test, two of its rankers, configuration, fold, results of each, signal and mask: sessions
SELECT
    p.experiment,
    p.ranker_a,
    p.ranker_b,
    c.configuration_id,
    s.fold,
    p.team_a,
    p.team_b,
    s.signal,
    s.click_mask,
    CAST(sum(s.sessions) AS BIGINT) AS sessions
FROM draft_sessions AS s
INNER JOIN list_configurations AS c ON s.list_fp = c.list_fp
INNER JOIN ranker_pairs AS p ON s.teams_fp = p.draft
WHERE s.is_open = $is_open
GROUP BY
    p.experiment, p.ranker_a, p.ranker_b, c.configuration_nr, c.configuration_id,
    s.fold, p.team_a, p.team_b, s.signal, s.click_mask
-- an id begins with its number, and no two ids with the same one: the order is that of the ids
ORDER BY
    p.experiment, p.ranker_a, p.ranker_b, c.configuration_nr, s.fold, p.team_a, p.team_b, s.signal, s.click_mask
