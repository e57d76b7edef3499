-- one row per market, query, top ten and click mask: a click log to its pattern table, by hand, on text
WITH delivered AS (  -- delivery repeats count once; the lists join in at the end
    SELECT DISTINCT
        search_id,
        user_id,
        market,
        timestamp,
        lower(trim(regexp_replace(query, '\s+', ' ', 'g'))) AS query
    FROM searches
),

timely_clicks AS (
    SELECT
        c.search_id,
        c.timestamp,
        c.url
    FROM clicks AS c
    INNER JOIN delivered AS d ON c.search_id = d.search_id
    WHERE c.timestamp BETWEEN d.timestamp - INTERVAL 60 MINUTES AND d.timestamp + INTERVAL 60 MINUTES
),

last_clicks AS (
    SELECT
        search_id,
        max(timestamp) AS last_click
    FROM timely_clicks
    GROUP BY search_id
),

activity AS (
    SELECT
        d.*,
        max(greatest(d.timestamp, l.last_click)) OVER (
            PARTITION BY d.user_id
            ORDER BY d.timestamp, d.search_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS active_before
    FROM delivered AS d
    LEFT JOIN last_clicks AS l ON d.search_id = l.search_id
),

visits AS (
    SELECT
        *,
        count(*) FILTER (WHERE timestamp > active_before + INTERVAL 60 MINUTES) OVER (
            PARTITION BY user_id
            ORDER BY timestamp, search_id
        ) AS visit
    FROM activity
),

session_searches AS (  -- a session goes by the id of its first search
    SELECT
        search_id,
        market,
        query,
        first_value(search_id) OVER (
            PARTITION BY user_id, visit, market, query
            ORDER BY timestamp, search_id
        ) AS session_id
    FROM visits
),

clicked AS (
    SELECT
        s.session_id,
        list(DISTINCT c.url) AS urls
    FROM timely_clicks AS c
    INNER JOIN session_searches AS s ON c.search_id = s.search_id
    GROUP BY s.session_id
),

lists AS (
    SELECT DISTINCT ON (search_id)
        search_id,
        results[1:10] AS results
    FROM searches
),

sessions AS (
    SELECT
        s.market,
        s.query,
        l.results,
        coalesce(list_sum([
            1 << (list_position(l.results, url) - 1) FOR url IN c.urls IF list_contains(l.results, url)
        ]), 0)::BIGINT AS click_mask
    FROM session_searches AS s
    INNER JOIN lists AS l ON s.session_id = l.search_id
    LEFT JOIN clicked AS c ON s.session_id = c.session_id
    WHERE s.search_id = s.session_id
)

SELECT
    market,
    query,
    results,
    click_mask,
    count(*) AS sessions
FROM sessions
GROUP BY ALL
