-- one row per market, query, top ten and click mask: hand_duckdb.sql in Spark's dialect
WITH delivered AS (  -- delivery repeats count once; the lists join in at the end
    SELECT DISTINCT
        search_id,
        user_id,
        market,
        timestamp,
        lower(trim(regexp_replace(query, '\\s+', ' '))) AS query
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
        count_if(timestamp > active_before + INTERVAL 60 MINUTES) OVER (
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
        collect_set(c.url) AS urls
    FROM timely_clicks AS c
    INNER JOIN session_searches AS s ON c.search_id = s.search_id
    GROUP BY s.session_id
),

lists AS (
    SELECT
        search_id,
        any_value(slice(results, 1, 10)) AS results
    FROM searches
    GROUP BY search_id
),

sessions AS (
    SELECT
        s.market,
        s.query,
        l.results,
        aggregate(
            coalesce(c.urls, array()),
            CAST(0 AS BIGINT),
            (mask, url) -> mask
            + CASE
                WHEN array_contains(l.results, url)
                    THEN shiftleft(CAST(1 AS BIGINT), CAST(array_position(l.results, url) - 1 AS INT))
                ELSE 0
            END
        ) AS click_mask
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
GROUP BY market, query, results, click_mask
