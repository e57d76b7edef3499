-- one row per list as shown, day of the first search, first or later page, open or closed: sessions; where weeks are
-- wanted, days are their Mondays
WITH begun AS (
    SELECT
        s.list_fp,
        s.page,
        s.time_ms,
        FALSE AS is_open
    FROM searches AS s
    ANTI JOIN session_searches AS p ON s.row_nr = p.row_nr
    UNION ALL
    SELECT
        list_fp,
        page,
        time_ms,
        is_open
    FROM session_searches
    WHERE row_nr = first_nr
),

dated AS (
    SELECT
        list_fp,
        page = 1 AS on_first_page,
        is_open,
        day_of(time_ms) AS day_nr
    FROM begun
)

SELECT
    list_fp,
    -- 1970-01-01 was a Thursday
    day_nr - (day_nr + 3) % $period_days AS day_nr,
    on_first_page,
    is_open,
    CAST(count(*) AS BIGINT) AS sessions
FROM dated
GROUP BY list_fp, day_nr - (day_nr + 3) % $period_days, on_first_page, is_open
