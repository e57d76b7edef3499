-- one row per click in time: its dwell time in ms as it was given, or until the next event of its visit (null = there
-- is none), and whether it is satisfied
WITH timed AS (
    SELECT
        c.search_nr,
        c.position,
        c.url_fp,
        v.is_open,
        c.dwell_ms AS given_ms,
        -- its own search, if it alone comes next by a clock that differs, ends nothing
        CASE WHEN t.next_search_nr = c.search_nr THEN t.after_next_ms ELSE t.next_ms END - c.time_ms AS until_next_ms
    FROM attributed_clicks AS c
    INNER JOIN visits AS v ON c.search_nr = v.row_nr
    INNER JOIN visit_times AS t
        ON
            v.user_fp = t.user_fp AND v.visit = t.visit AND c.time_ms = t.time_ms
            AND t.query_fp = CASE WHEN $per_query THEN v.query_fp ELSE 0 END
    WHERE c.in_time
)

SELECT
    search_nr,
    position,
    url_fp,
    is_open,
    given_ms,
    until_next_ms,
    CASE
        WHEN given_ms >= 0 THEN given_ms >= $satisfied_ms
        WHEN until_next_ms IS NULL THEN $last_click_counts
        ELSE until_next_ms >= $satisfied_ms
    END AS is_satisfied
FROM timed
