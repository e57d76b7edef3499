-- one row per kind of searches that name rankers and are new in this batch, and per kind of sessions that begin with
-- one: why they do not count, if so, and whether that may still change
WITH named AS (
    SELECT
        CASE
            WHEN NOT d.has_test THEN 'null experiment'
            WHEN NOT r.teams_fit THEN 'another number than results'
        END AS fault
    FROM searches_read AS r
    INNER JOIN draft_texts AS d ON r.teams_fp = d.teams_fp
    WHERE NOT r.carried AND r.reason IS NULL
)

SELECT
    FALSE AS are_sessions,
    fault,
    FALSE AS is_open,
    CAST(count(*) AS BIGINT) AS n
FROM named
GROUP BY fault
UNION ALL
SELECT
    TRUE AS are_sessions,
    fault,
    is_open,
    CAST(count(*) AS BIGINT) AS n
FROM drafted_sessions
GROUP BY fault, is_open
