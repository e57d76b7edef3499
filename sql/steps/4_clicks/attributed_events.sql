-- one row per usable click or other action: its search, if one has its search_id; whether it is in time, and its
-- position in that list (null = not in it; 0 = the list of a query that is left out), and whether it also names a place
-- of another result
WITH named AS (
    SELECT
        c.row_nr,
        c.search_fp,
        c.time_ms,
        c.url_fp,
        c.place,
        c.action,
        c.dwell_ms,
        a.search_fp IS NOT NULL AS ambiguous
    FROM usable_events AS c
    LEFT JOIN known_ambiguous_ids AS a ON c.search_fp = a.search_fp
),

of_searches AS (
    SELECT
        c.row_nr,
        c.search_fp,
        c.time_ms,
        c.url_fp,
        c.place,
        c.action,
        c.dwell_ms,
        c.ambiguous,
        s.row_nr AS search_nr,
        s.list_fp,
        s.is_kept,
        coalesce(abs(c.time_ms - s.time_ms) <= $idle_ms, FALSE) AS in_time,
        s.page = 1 AS on_first_page
    FROM searches AS s
    -- clicks on the right: there are fewer bytes of them, and engines keep the right side in memory
    RIGHT JOIN named AS c ON s.search_fp = c.search_fp AND NOT c.ambiguous -- noqa: CV08
)

SELECT
    c.row_nr,
    c.search_fp,
    c.time_ms,
    c.action,
    c.dwell_ms,
    c.ambiguous,
    c.search_nr,
    c.in_time,
    c.on_first_page,
    coalesce(
        $by_url AND c.is_kept AND c.place >= 1 AND at_place(coalesce(l.delivered_urls, l.urls), c.place) <> c.url_fp,
        FALSE
    ) AS is_misplaced,
    CASE WHEN $by_url THEN c.url_fp ELSE at_place(coalesce(l.delivered_urls, l.urls), c.place) END AS url_fp,
    CASE
        WHEN NOT c.is_kept THEN 0
        WHEN $by_url THEN position_in(l.urls, c.url_fp)
        ELSE position_in(l.urls, at_place(coalesce(l.delivered_urls, l.urls), c.place))
    END AS position
FROM of_searches AS c
LEFT JOIN list_texts AS l ON c.list_fp = l.list_fp
