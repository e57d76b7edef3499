-- one row per result list of this batch: its query, its texts, whether normal form changes a URL of it, and the
-- fingerprints of its URLs in normal form, each at its first place; and as delivered, if it shows one again
WITH of_one_search AS (
    -- the ids first: then the texts of few searches are read
    SELECT
        s.list_fp,
        s.search_fp,
        s.query_fp,
        s.market,
        s.query,
        s.results
    FROM fingerprinted_searches AS s
    SEMI JOIN example_search_of_list AS i ON s.search_fp = i.search_fp
),

shown AS (
    SELECT DISTINCT
        s.list_fp,
        s.query_fp,
        s.market,
        s.query,
        s.results
    FROM of_one_search AS s
    SEMI JOIN example_search_of_list AS a ON s.list_fp = a.list_fp AND s.search_fp = a.search_fp
),

checked AS (
    SELECT
        list_fp,
        query_fp,
        market,
        query,
        $normalise_urls AND holds_unnormalised_url(results) AS has_unnormalised_urls,
        valid_texts(results) AS raw_results
    FROM shown
),

fingerprinted AS (
    SELECT
        list_fp,
        query_fp,
        market,
        query,
        has_unnormalised_urls,
        raw_results,
        texts_fingerprints(normal_results($normalise_urls, has_unnormalised_urls, raw_results)) AS all_urls
    FROM checked
)

SELECT
    list_fp,
    query_fp,
    market,
    query,
    has_unnormalised_urls,
    raw_results,
    CASE WHEN holds_repeat(all_urls) THEN without_repeats(all_urls) ELSE all_urls END AS urls,
    CASE WHEN holds_repeat(all_urls) THEN all_urls END AS delivered_urls
FROM fingerprinted
