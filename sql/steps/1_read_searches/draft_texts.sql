-- one row per experiment and list of rankers, in the order of results, that a search names
SELECT
    text_fingerprint(draft) AS teams_fp,
    min(draft) AS draft,
    min(experiment) AS experiment,
    min(teams) AS teams
FROM fingerprinted_searches
WHERE draft IS NOT NULL AND experiment <> ''
GROUP BY text_fingerprint(draft)
