-- one row per search of a user who repeats a query: until when it was active, and its id where that breaks a tie
WITH concerned AS (
    SELECT
        s.search_fp,
        s.user_fp,
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
        c.search_fp,
        max(k.time_ms) AS click_ms
    FROM usable_clicks AS k
    INNER JOIN concerned AS c ON k.search_fp = c.search_fp
    LEFT JOIN ambiguous_ids AS a ON k.search_fp = a.search_fp
    WHERE a.search_fp IS NULL AND abs(k.time_ms - c.time_ms) <= $idle_ms
    GROUP BY c.search_fp
)

SELECT
    c.search_fp,
    c.user_fp,
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
