-- one row per list as shown, fold, first or later page, click mask, open or closed: sessions, and their users' buckets
WITH digested AS (
    SELECT
        list_fp,
        page = 1 AS on_first_page,
        is_open,
        click_mask,
        user_digest(user_id) AS digest
    FROM sessions
)

SELECT
    list_fp,
    CAST(digest % $folds AS INTEGER) AS fold,
    on_first_page,
    is_open,
    click_mask,
    CAST(count(*) AS BIGINT) AS sessions,
    bit_or(bucket_bit(digest)) AS user_buckets
FROM digested
GROUP BY list_fp, CAST(digest % $folds AS INTEGER), on_first_page, is_open, click_mask
