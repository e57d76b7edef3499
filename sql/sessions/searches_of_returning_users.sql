-- one row per search of a user who repeats a query: until when it was active, and its id where that breaks a tie
WITH concerned AS (
    SELECT
        s.search_fp,
        s.user_fp,
        s.query_fp,
        s.list_fp,
        s.time_ms,
        s.page,
        s.user_digest,
        s.normal_fp
    FROM searches AS s
    SEMI JOIN repeated_pairs AS p ON s.user_fp = p.user_fp AND (NOT $per_query OR s.normal_fp = p.normal_fp)
),

latest AS (
    SELECT
        f.search_fp,
        max(f.time_ms) AS click_ms
    FROM click_fates AS f
    SEMI JOIN concerned AS c ON f.search_fp = c.search_fp
    WHERE f.fate = 'kept'
    GROUP BY f.search_fp
)

SELECT
    c.search_fp,
    c.user_fp,
    c.query_fp,
    c.list_fp,
    c.time_ms,
    c.page,
    c.user_digest,
    c.normal_fp,
    i.search_id,
    greatest(c.time_ms, coalesce(l.click_ms, c.time_ms)) AS active_until_ms
FROM concerned AS c
LEFT JOIN latest AS l ON c.search_fp = l.search_fp
LEFT JOIN search_order AS i ON c.search_fp = i.search_fp
