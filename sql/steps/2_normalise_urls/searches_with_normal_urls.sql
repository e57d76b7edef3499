-- one row per search of this batch: its URLs by the fingerprints of their normal forms
SELECT
    s.row_nr,
    s.carried,
    s.search_id,
    s.search_fp,
    s.user_id,
    s.user_fp,
    s.query_fp,
    s.raw_query_fp,
    s.list_fp,
    s.time_ms,
    s.page,
    coalesce(n.urls, s.urls) AS urls,
    s.is_kept,
    s.click_mask,
    s.no_query,
    s.no_market,
    s.n_results,
    s.holds_null
FROM searches_staged AS s
LEFT JOIN normal_urls_of_lists AS n ON s.list_fp = n.list_fp
