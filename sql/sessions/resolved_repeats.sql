-- one row per search among those whose search_id is repeated: delivery repeats count once
WITH ranked AS (
    SELECT
        s.search_fp,
        s.user_fp,
        s.query_fp,
        s.list_fp,
        s.time_ms,
        s.page,
        s.user_digest,
        s.normal_fp,
        row_number() OVER (
            PARTITION BY s.search_fp, s.user_fp, s.time_ms
            ORDER BY t.market, t.query, t.results, s.page, s.query_fp, s.list_fp
        ) AS delivery
    FROM normal_searches AS s
    SEMI JOIN repeated_ids AS i ON s.search_fp = i.search_fp
    INNER JOIN shown_texts AS t ON s.query_fp = t.query_fp AND s.list_fp = t.list_fp
)

SELECT
    search_fp,
    user_fp,
    query_fp,
    list_fp,
    time_ms,
    page,
    user_digest,
    normal_fp
FROM ranked
WHERE delivery = 1
