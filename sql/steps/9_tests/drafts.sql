-- one row per experiment and list of rankers that a search names
SELECT
    teams_fp AS draft,
    experiment,
    teams
FROM draft_texts
WHERE has_test
