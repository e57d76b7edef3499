-- one row per search among those whose search_id is repeated: delivery repeats count once
WITH repeats AS (
    SELECT
        s.search_fp,
        s.user_fp,
        s.query_fp,
        s.list_fp,
        s.time_ms,
        s.page,
        s.user_digest,
        s.normal_fp
    FROM normal_searches AS s
    SEMI JOIN repeated_ids AS i ON s.search_fp = i.search_fp
),

ranked AS (
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
            ORDER BY q.market, q.query, normal_results($normalise_urls, t.odd_urls, t.raw_results), s.page, s.list_fp
        ) AS delivery
    FROM repeats AS s
    INNER JOIN shown_texts AS t ON s.list_fp = t.list_fp
    INNER JOIN shown_queries AS q ON s.query_fp = q.query_fp
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
