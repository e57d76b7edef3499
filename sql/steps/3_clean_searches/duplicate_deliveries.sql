-- one row per search that is a repeated delivery of another: only one of them counts
WITH repeats AS (
    SELECT
        s.row_nr,
        s.search_fp,
        s.user_fp,
        s.query_fp,
        s.list_fp,
        s.time_ms,
        s.page,
        s.experiment,
        s.variant,
        d.draft
    FROM usable_searches AS s
    SEMI JOIN repeated_ids AS i ON s.search_fp = i.search_fp
    LEFT JOIN draft_texts AS d ON s.teams_fp = d.teams_fp AND s.teams_fit AND d.has_test
),

named AS (
    SELECT
        r.row_nr,
        r.search_fp,
        r.user_fp,
        r.list_fp,
        r.time_ms,
        r.page,
        r.experiment,
        r.variant,
        r.draft,
        q.market,
        q.query
    FROM query_texts AS q
    INNER JOIN repeats AS r ON q.query_fp = r.query_fp
),

ranked AS (
    SELECT
        n.row_nr,
        row_number() OVER (
            PARTITION BY n.search_fp, n.user_fp, n.time_ms
            ORDER BY
                n.market,
                n.query,
                normal_results($normalise_urls, t.has_unnormalised_urls, t.raw_results),
                n.page,
                t.raw_results,
                n.list_fp,
                coalesce(n.draft, ''),
                coalesce(n.experiment, ''),
                coalesce(n.variant, ''),
                n.row_nr
        ) AS delivery
    FROM list_texts AS t
    -- a query that is left out has no texts: all its lists are the same placeholder
    RIGHT JOIN named AS n ON t.list_fp = n.list_fp -- noqa: CV08
)

SELECT row_nr
FROM ranked
WHERE delivery > 1
