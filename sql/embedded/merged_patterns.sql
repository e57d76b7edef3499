-- one row per list as shown, fold, first or later page, and click mask, over all batches so far
SELECT
    list_fp,
    fold,
    on_first_page,
    click_mask,
    CAST(sum(sessions) AS BIGINT) AS sessions,
    bit_or(user_buckets) AS user_buckets
FROM closed_patterns
GROUP BY list_fp, fold, on_first_page, click_mask
