-- one row per configuration, where one list shows each: its texts
SELECT
    c.configuration_nr,
    c.configuration_id,
    t.market,
    t.query,
    shown_results(
        $normalise_urls, t.has_unnormalised_urls, t.delivered_urls IS NOT NULL, t.raw_results, $depth
    ) AS results
FROM list_texts AS t
INNER JOIN list_configurations AS c ON t.list_fp = c.list_fp
WHERE c.first_page_sessions > 0
