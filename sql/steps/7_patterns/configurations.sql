-- one row per configuration: the texts of one of the lists that show it
WITH chosen AS (
    SELECT
        configuration_nr,
        configuration_id,
        min(list_fp) AS list_fp
    FROM list_configurations
    WHERE on_first_page
    GROUP BY configuration_nr, configuration_id
)

SELECT
    c.configuration_nr,
    c.configuration_id,
    q.market,
    q.query,
    normal_results($normalise_urls, t.has_unnormalised_urls, top_of(t.raw_results, $depth)) AS results
FROM list_texts AS t
INNER JOIN chosen AS c ON t.list_fp = c.list_fp
INNER JOIN query_texts AS q ON t.query_fp = q.query_fp
