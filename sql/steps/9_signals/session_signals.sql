-- one row per list as shown, fold, first or later page, open or closed, signal and mask of the results with the signal:
-- sessions; sessions without the signal have no row
WITH digested AS (
    SELECT
        list_fp,
        page = 1 AS on_first_page,
        is_open,
        signal,
        click_mask,
        user_digest(user_id) AS digest
    FROM signals_of_sessions
)

SELECT
    list_fp,
    CAST(digest % $folds AS INTEGER) AS fold,
    on_first_page,
    is_open,
    signal,
    click_mask,
    CAST(count(*) AS BIGINT) AS sessions
FROM digested
GROUP BY list_fp, CAST(digest % $folds AS INTEGER), on_first_page, is_open, signal, click_mask
