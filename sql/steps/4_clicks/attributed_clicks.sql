-- one row per usable click: its search, if one has its search_id; whether it is in time, and its position in that list
-- (null = not in it; 0 = the list of a query that is left out)
WITH named AS (
    SELECT
        c.row_nr,
        c.search_fp,
        c.time_ms,
        c.url_fp,
        c.place,
        a.search_fp IS NOT NULL AS ambiguous
    FROM usable_clicks AS c
    LEFT JOIN known_ambiguous_ids AS a ON c.search_fp = a.search_fp
)

SELECT
    c.row_nr,
    c.search_fp,
    c.time_ms,
    c.ambiguous,
    s.row_nr AS search_nr,
    coalesce(abs(c.time_ms - s.time_ms) <= $idle_ms, FALSE) AS in_time,
    s.page = 1 AS on_first_page,
    CASE WHEN $by_url THEN c.url_fp ELSE at_place(s.urls, c.place) END AS url_fp,
    CASE
        WHEN NOT s.is_kept THEN 0
        WHEN $by_url THEN position_in(s.urls, c.url_fp) ELSE position_in(s.urls, at_place(s.urls, c.place))
    END AS position
FROM searches AS s
-- clicks on the right: there are fewer bytes of them, and engines keep the right side in memory
RIGHT JOIN named AS c ON s.search_fp = c.search_fp AND NOT c.ambiguous -- noqa: CV08
