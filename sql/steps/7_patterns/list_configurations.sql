-- one row per list that a session began with: the configuration it shows, the number that its id begins with, its
-- sessions on the first page and on later ones, and their users' buckets
WITH begun AS (
    SELECT
        list_fp,
        CAST(sum(CASE WHEN on_first_page THEN sessions ELSE 0 END) AS BIGINT) AS first_page_sessions,
        CAST(sum(CASE WHEN on_first_page THEN 0 ELSE sessions END) AS BIGINT) AS later_page_sessions,
        bit_or(user_buckets) AS user_buckets
    FROM chosen_patterns
    GROUP BY list_fp
),

named AS (
    SELECT
        t.list_fp,
        t.query_fp,
        t.market,
        t.query,
        b.first_page_sessions,
        b.later_page_sessions,
        b.user_buckets,
        configuration_digest(
            t.market,
            t.query,
            shown_results(
                $normalise_urls, t.has_unnormalised_urls, t.delivered_urls IS NOT NULL, t.raw_results, $depth
            )
        ) AS configuration_id
    FROM list_texts AS t
    INNER JOIN begun AS b ON t.list_fp = b.list_fp
)

SELECT
    list_fp,
    query_fp,
    market,
    query,
    first_page_sessions,
    later_page_sessions,
    user_buckets,
    configuration_id,
    leading_number(configuration_id) AS configuration_nr
FROM named
