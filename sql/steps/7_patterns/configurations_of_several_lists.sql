-- one row per configuration, where several lists may show it: the texts of one of them
WITH chosen AS (
    SELECT
        configuration_nr,
        configuration_id,
        min(list_fp) AS list_fp
    FROM list_configurations
    WHERE first_page_sessions > 0
    GROUP BY configuration_nr, configuration_id
)

SELECT
    c.configuration_nr,
    c.configuration_id,
    t.market,
    t.query,
    shown_results(
        $normalise_urls, t.has_unnormalised_urls, t.delivered_urls IS NOT NULL, t.raw_results, $depth
    ) AS results
FROM list_texts AS t
INNER JOIN chosen AS c ON t.list_fp = c.list_fp
