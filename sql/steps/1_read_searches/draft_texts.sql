-- one row per experiment and list of rankers, in the order of results, that usable searches name: as a text and a
-- number, which are equal where nothing but an empty name differs, and whether there is an experiment
WITH examples AS (
    -- the ids first: then the texts of few searches are read
    SELECT
        teams_fp,
        min(search_fp) AS search_fp
    FROM searches_read
    WHERE reason IS NULL AND teams_fp IS NOT NULL
    GROUP BY teams_fp
),

named AS (
    SELECT
        s.teams_fp,
        s.experiment,
        s.teams,
        draft_text(s.experiment, s.teams) AS draft
    FROM fingerprinted_searches AS s
    SEMI JOIN examples AS e ON s.search_fp = e.search_fp AND s.teams_fp = e.teams_fp
    WHERE names_any(s.teams)
)

SELECT
    teams_fp,
    min(draft) AS draft,
    min(min(teams_fp)) OVER (PARTITION BY min(draft)) AS draft_nr,
    min(experiment) AS experiment,
    min(teams) AS teams,
    coalesce(min(experiment), '') <> '' AS has_test
FROM named
GROUP BY teams_fp
