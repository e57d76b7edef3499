-- searches that are in no session, or in two: must be none
WITH counted AS (
    -- each session stands for its first search, and what is left over are searches of no session
    SELECT 0 - sessions AS searches
    FROM session_patterns
    UNION ALL
    SELECT -1 AS searches
    FROM session_searches
    WHERE row_nr <> first_nr
    UNION ALL
    SELECT 1 AS searches
    FROM searches
),

added AS (
    SELECT CAST(coalesce(sum(searches), 0) AS BIGINT) AS searches
    FROM counted
)

SELECT searches
FROM added
WHERE searches <> 0
