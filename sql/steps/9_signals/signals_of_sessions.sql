-- one row per session and signal: the mask of the results with the signal; sessions without the signal have no row
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
        s.first_nr,
        s.is_open,
        s.page,
        s.list_fp,
        s.user_id,
        e.signal,
        position_in(l.urls, e.url_fp) AS position
    FROM signal_events AS e
    INNER JOIN session_searches AS s ON e.search_nr = s.row_nr
    INNER JOIN list_texts AS l ON s.list_fp = l.list_fp
)

SELECT
    a.search_nr AS first_nr,
    s.list_fp,
    s.page,
    s.user_id,
    FALSE AS is_open,
    a.signal,
    a.click_mask
FROM alone AS a
INNER JOIN searches AS s ON a.search_nr = s.row_nr
UNION ALL
SELECT
    first_nr,
    list_fp,
    page,
    user_id,
    is_open,
    signal,
    bit_or(position_bit(position)) AS click_mask
FROM placed
WHERE position BETWEEN 1 AND $depth
GROUP BY first_nr, list_fp, page, user_id, is_open, signal
