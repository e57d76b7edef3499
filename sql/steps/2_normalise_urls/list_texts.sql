-- one row per result list of this batch: its texts, and whether normal form changes a URL of it
WITH of_one_search AS (
    -- the ids first: then the texts of few searches are read
    SELECT
        s.list_fp,
        s.search_fp,
        s.query_fp,
        s.results
    FROM fingerprinted_searches AS s
    SEMI JOIN example_search_of_list AS i ON s.search_fp = i.search_fp
)

SELECT DISTINCT
    s.list_fp,
    s.query_fp,
    $normalise_urls AND holds_unnormalised_url(s.results) AS has_unnormalised_urls,
    valid_texts(s.results) AS raw_results
FROM of_one_search AS s
SEMI JOIN example_search_of_list AS a ON s.list_fp = a.list_fp AND s.search_fp = a.search_fp
WHERE NOT holds_null(s.results)
