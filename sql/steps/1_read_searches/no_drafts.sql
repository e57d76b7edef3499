-- no row: no search names a ranker
SELECT
    teams_fp,
    experiment AS draft,
    teams_fp AS draft_nr,
    experiment,
    teams,
    FALSE AS has_test
FROM fingerprinted_searches
WHERE FALSE
