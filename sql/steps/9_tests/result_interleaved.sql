-- one row per test, two of its rankers, configuration, fold, results of each, signal and mask: sessions
WITH counted AS (
    -- names and ids follow when rows are few
    SELECT
        p.pair_nr,
        c.configuration_nr,
        s.fold,
        p.team_a,
        p.team_b,
        s.signal,
        s.click_mask,
        min(s.list_fp) AS list_fp,
        CAST(sum(s.sessions) AS BIGINT) AS sessions
    FROM draft_sessions AS s
    INNER JOIN list_configurations AS c ON s.list_fp = c.list_fp
    INNER JOIN ranker_pairs AS p ON s.teams_fp = p.draft
    WHERE s.is_open = $is_open
    GROUP BY p.pair_nr, c.configuration_nr, s.fold, p.team_a, p.team_b, s.signal, s.click_mask
),

names AS (
    SELECT DISTINCT
        pair_nr,
        experiment,
        ranker_a,
        ranker_b
    FROM ranker_pairs
)

SELECT
    n.experiment,
    n.ranker_a,
    n.ranker_b,
    c.configuration_id,
    s.fold,
    s.team_a,
    s.team_b,
    s.signal,
    s.click_mask,
    s.sessions
FROM counted AS s
INNER JOIN list_configurations AS c ON s.list_fp = c.list_fp
INNER JOIN names AS n ON s.pair_nr = n.pair_nr
-- an id begins with its number, and no two ids with the same one: the order is that of the ids
ORDER BY s.pair_nr, s.configuration_nr, s.fold, s.team_a, s.team_b, s.signal, s.click_mask
