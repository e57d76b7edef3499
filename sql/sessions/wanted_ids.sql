-- one row per search_id whose own value is needed: repeated ones, and those that break a tie in time
WITH tied AS (
    SELECT
        n.user_fp,
        n.normal_fp,
        n.time_ms
    FROM normal_searches AS n
    SEMI JOIN repeated_pairs AS p ON n.user_fp = p.user_fp AND n.normal_fp = p.normal_fp
    GROUP BY n.user_fp, n.normal_fp, n.time_ms
    HAVING count(*) > 1
)

SELECT search_fp
FROM repeated_ids
UNION
SELECT s.search_fp
FROM normal_searches AS s
INNER JOIN tied AS t ON s.user_fp = t.user_fp AND s.normal_fp = t.normal_fp AND s.time_ms = t.time_ms
