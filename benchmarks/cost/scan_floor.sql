-- the floor: read and hash every column that the big step needs, and do nothing more with it
WITH searches AS (
    SELECT
        bit_xor(hash(search_id)) AS search_ids,
        bit_xor(hash(user_id)) AS user_ids,
        bit_xor(hash(query)) AS queries,
        bit_xor(hash(timestamp)) AS times,
        bit_xor(hash(results)) AS results,
        count(*) AS n_searches
    FROM read_parquet($searches)
),

clicks AS (
    SELECT
        bit_xor(hash(search_id)) AS click_search_ids,
        bit_xor(hash(timestamp)) AS click_times,
        bit_xor(hash(url)) AS urls,
        count(*) AS n_clicks
    FROM read_parquet($clicks)
)

SELECT
    s.search_ids,
    s.user_ids,
    s.queries,
    s.times,
    s.results,
    s.n_searches,
    c.click_search_ids,
    c.click_times,
    c.urls,
    c.n_clicks
FROM searches AS s
CROSS JOIN clicks AS c
