-- one row per session on the first page of a query that is kept whose first search names rankers, while their test
-- lasts: these rankers, and why the session does not count, if it does not
WITH later AS (
    SELECT
        p.first_nr,
        min(coalesce(d.draft_nr, -1)) AS lowest_nr,
        max(coalesce(d.draft_nr, -1)) AS highest_nr
    FROM session_searches AS p
    INNER JOIN searches_read AS r ON p.row_nr = r.row_nr
    LEFT JOIN draft_texts AS d ON r.teams_fp = d.teams_fp AND r.teams_fit AND d.has_test
    WHERE r.page = 1 AND p.row_nr <> p.first_nr
    GROUP BY p.first_nr
)

SELECT
    s.first_nr,
    s.list_fp,
    CAST(user_digest(s.user_id) % $folds AS INTEGER) AS fold,
    s.click_mask,
    s.is_open,
    r.teams_fp,
    CASE
        WHEN o.lowest_nr <> x.draft_nr OR o.highest_nr <> x.draft_nr THEN 'searches differ in teams'
        WHEN l.delivered_urls IS NOT NULL THEN 'a result is shown again'
    END AS fault
FROM sessions AS s
INNER JOIN searches_read AS r ON s.first_nr = r.row_nr
INNER JOIN draft_texts AS x ON r.teams_fp = x.teams_fp AND r.teams_fit AND x.has_test
LEFT JOIN test_spans AS t ON x.experiment = t.experiment
LEFT JOIN later AS o ON s.first_nr = o.first_nr
LEFT JOIN list_texts AS l ON s.list_fp = l.list_fp
WHERE
    s.page = 1 AND r.is_kept
    AND (t.experiment IS NULL OR (r.time_ms >= t.since_ms AND r.time_ms < t.until_ms))
