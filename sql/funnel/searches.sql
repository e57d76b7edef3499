-- one row: searches of this batch that are usable, carried over and kept; of those kept, in addition to what earlier
-- batches counted, searches whose query is left out or whose list shows a result again; and clicks carried over
WITH lists_with_repeats AS (
    SELECT list_fp
    FROM list_texts
    WHERE delivered_urls IS NOT NULL
),

counted_searches AS (
    SELECT
        CAST(count(*) AS BIGINT) AS usable,
        CAST(coalesce(sum(CASE WHEN carried THEN 1 ELSE 0 END), 0) AS BIGINT) AS carried,
        CAST(coalesce(sum(CASE WHEN carried AND NOT is_kept THEN 1 ELSE 0 END), 0) AS BIGINT) AS carried_left_out
    FROM usable_searches
),

kept_searches AS (
    SELECT
        CAST(count(*) AS BIGINT) AS kept,
        CAST(coalesce(sum(CASE WHEN is_kept THEN 0 ELSE 1 END), 0) AS BIGINT) AS left_out
    FROM searches
),

carried_with_repeats AS (
    SELECT CAST(count(*) AS BIGINT) AS carried_shortened
    FROM usable_searches AS s
    SEMI JOIN lists_with_repeats AS r ON s.list_fp = r.list_fp
    WHERE s.carried
),

kept_with_repeats AS (
    SELECT CAST(count(*) AS BIGINT) AS shortened
    FROM searches AS s
    SEMI JOIN lists_with_repeats AS r ON s.list_fp = r.list_fp
),

counted_clicks AS (
    SELECT CAST(coalesce(sum(CASE WHEN carried THEN 1 ELSE 0 END), 0) AS BIGINT) AS carried_clicks
    FROM clicks_read
    WHERE action = 'click'
)

SELECT
    u.usable,
    u.carried,
    k.kept,
    k.left_out - u.carried_left_out AS left_out,
    r.shortened - b.carried_shortened AS shortened,
    c.carried_clicks
FROM counted_searches AS u
CROSS JOIN kept_searches AS k
CROSS JOIN carried_with_repeats AS b
CROSS JOIN kept_with_repeats AS r
CROSS JOIN counted_clicks AS c
