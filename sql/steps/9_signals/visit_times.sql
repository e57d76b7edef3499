-- one row per visit and time of an event: events and clicks then; the next such time, the search if it alone is then,
-- and the time after that
WITH counted AS (
    SELECT
        user_fp,
        query_fp,
        visit,
        is_open,
        time_ms,
        CAST(count(*) AS BIGINT) AS events,
        CAST(sum(CASE WHEN is_click THEN 1 ELSE 0 END) AS BIGINT) AS clicks,
        min(CASE WHEN NOT is_click THEN search_nr END) AS search_nr
    FROM visit_events
    GROUP BY user_fp, query_fp, visit, is_open, time_ms
),

lone AS (
    SELECT
        user_fp,
        query_fp,
        visit,
        is_open,
        time_ms,
        events,
        clicks,
        CASE WHEN events = 1 THEN search_nr END AS lone_search_nr
    FROM counted
)

SELECT
    user_fp,
    query_fp,
    visit,
    is_open,
    time_ms,
    events,
    clicks,
    lead(time_ms) OVER (PARTITION BY user_fp, query_fp, visit ORDER BY time_ms) AS next_ms,
    lead(lone_search_nr) OVER (PARTITION BY user_fp, query_fp, visit ORDER BY time_ms) AS next_search_nr,
    lead(time_ms, 2) OVER (PARTITION BY user_fp, query_fp, visit ORDER BY time_ms) AS after_next_ms
FROM lone
