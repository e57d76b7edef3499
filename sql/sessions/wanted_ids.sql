-- one row per search_id whose own value is needed: repeated ones, and those that break a tie in time
SELECT search_fp
FROM repeated_ids
UNION
SELECT s.search_fp
FROM normal_searches AS s
INNER JOIN
    (
        SELECT
            n.user_fp,
            n.normal_fp,
            n.time_ms
        FROM normal_searches AS n
        SEMI JOIN repeated_pairs AS p ON n.user_fp = p.user_fp AND n.normal_fp = p.normal_fp
        GROUP BY n.user_fp, n.normal_fp, n.time_ms
        HAVING count(*) > 1
    ) AS tied
    ON s.user_fp = tied.user_fp AND s.normal_fp = tied.normal_fp AND s.time_ms = tied.time_ms
