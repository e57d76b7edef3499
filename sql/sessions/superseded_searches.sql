-- one row per search that is a further delivery of another: these count once
WITH repeats AS (
    SELECT
        s.row_nr,
        s.search_fp,
        s.user_fp,
        s.list_fp,
        s.time_ms,
        s.page
    FROM usable_searches AS s
    SEMI JOIN repeated_ids AS i ON s.search_fp = i.search_fp
),

ranked AS (
    SELECT
        s.row_nr,
        row_number() OVER (
            PARTITION BY s.search_fp, s.user_fp, s.time_ms
            ORDER BY
                q.market,
                q.query,
                normal_results($normalise_urls, t.odd_urls, t.raw_results),
                s.page,
                s.list_fp,
                s.row_nr
        ) AS delivery
    FROM shown_texts AS t
    INNER JOIN repeats AS s ON t.list_fp = s.list_fp
    INNER JOIN shown_queries AS q ON t.query_fp = q.query_fp
)

SELECT row_nr
FROM ranked
WHERE delivery > 1
