-- one row per list as shown, fold, first or later page, and click mask: sessions and their users' buckets
SELECT
    list_fp,
    CAST(user_digest % $folds AS INTEGER) AS fold,
    page = 1 AS on_first_page,
    click_mask,
    CAST(count(*) AS BIGINT) AS sessions,
    bit_or(bucket_bit(user_digest)) AS user_buckets
FROM sessions
GROUP BY list_fp, CAST(user_digest % $folds AS INTEGER), page = 1, click_mask
