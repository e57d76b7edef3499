-- no row: no search names a ranker
SELECT
    list_fp AS teams_fp,
    draft,
    experiment,
    teams
FROM fingerprinted_searches
WHERE FALSE
