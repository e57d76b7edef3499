-- one row per list that a session began with: the configuration it shows, and the number that its id begins with
WITH begun AS (
    SELECT
        list_fp,
        max(CASE WHEN on_first_page THEN 1 ELSE 0 END) = 1 AS on_first_page
    FROM chosen_patterns
    GROUP BY list_fp
),

named AS (
    SELECT
        t.list_fp,
        t.query_fp,
        b.on_first_page,
        configuration_digest(
            q.market, q.query, normal_results($normalise_urls, t.has_unnormalised_urls, top_of(t.raw_results, $depth))
        ) AS configuration_id
    FROM list_texts AS t
    INNER JOIN begun AS b ON t.list_fp = b.list_fp
    INNER JOIN query_texts AS q ON t.query_fp = q.query_fp
)

SELECT
    list_fp,
    query_fp,
    on_first_page,
    configuration_id,
    leading_number(configuration_id) AS configuration_nr
FROM named
