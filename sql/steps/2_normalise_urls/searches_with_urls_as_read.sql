-- one row per search of this batch: every URL is in normal form already
SELECT
    row_nr,
    carried,
    search_id,
    search_fp,
    user_id,
    user_fp,
    query_fp,
    raw_query_fp,
    list_fp,
    time_ms,
    page,
    urls,
    is_kept,
    click_mask,
    no_query,
    no_market,
    n_results,
    holds_null
FROM searches_staged
