-- one row per kind of searches that name rankers and are new in this batch, and per kind of sessions that begin with
-- one: why they do not count, if so, and whether that may still change
SELECT
    FALSE AS are_sessions,
    teams_fault AS fault,
    FALSE AS is_open,
    CAST(count(*) AS BIGINT) AS n
FROM searches_read
WHERE NOT carried AND reason IS NULL AND (teams_fp IS NOT NULL OR teams_fault IS NOT NULL)
GROUP BY teams_fault
UNION ALL
SELECT
    TRUE AS are_sessions,
    fault,
    is_open,
    CAST(count(*) AS BIGINT) AS n
FROM drafted_sessions
GROUP BY fault, is_open
