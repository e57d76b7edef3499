-- one row per list as shown, fold, first or later page, open or closed, signal and mask of the results with the signal:
-- sessions; sessions without the signal have no row
WITH alone AS (
    SELECT
        e.search_nr,
        e.signal,
        bit_or(position_bit(e.position)) AS click_mask
    FROM signal_events AS e
    ANTI JOIN session_searches AS p ON e.search_nr = p.row_nr
    WHERE e.position BETWEEN 1 AND $depth
    GROUP BY e.search_nr, e.signal
),

placed AS (
    SELECT
        s.user_fp,
        s.query_fp,
        s.visit,
        s.is_open,
        s.page,
        s.list_fp,
        s.user_id,
        e.signal,
        position_in(l.urls, e.url_fp) AS position
    FROM signal_events AS e
    INNER JOIN session_searches AS s ON e.search_nr = s.row_nr
    INNER JOIN list_texts AS l ON s.list_fp = l.list_fp
),

together AS (
    SELECT
        list_fp,
        page,
        user_id,
        is_open,
        signal,
        bit_or(position_bit(position)) AS click_mask
    FROM placed
    WHERE position BETWEEN 1 AND $depth
    GROUP BY user_fp, query_fp, visit, list_fp, page, user_id, is_open, signal
),

digested AS (
    SELECT
        s.list_fp,
        s.page = 1 AS on_first_page,
        FALSE AS is_open,
        a.signal,
        a.click_mask,
        user_digest(s.user_id) AS digest
    FROM alone AS a
    INNER JOIN searches AS s ON a.search_nr = s.row_nr
    UNION ALL
    SELECT
        list_fp,
        page = 1 AS on_first_page,
        is_open,
        signal,
        click_mask,
        user_digest(user_id) AS digest
    FROM together
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
