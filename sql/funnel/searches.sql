-- one row: searches of this batch that are usable, carried over and kept; of those kept, in addition to what earlier
-- batches counted, searches whose query is left out or whose list shows a result again, and of the latter those of
-- whose results the normal form of URLs makes fewer; and clicks carried over
WITH lists_with_repeats AS (
    SELECT
        list_fp,
        CASE
            WHEN has_unnormalised_urls AND length_of(without_repeats(raw_results)) > length_of(urls) THEN 1 ELSE 0
        END AS is_merged
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
    SELECT
        CAST(count(*) AS BIGINT) AS carried_shortened,
        CAST(coalesce(sum(r.is_merged), 0) AS BIGINT) AS carried_merged
    FROM usable_searches AS s
    INNER JOIN lists_with_repeats AS r ON s.list_fp = r.list_fp
    WHERE s.carried
),

kept_with_repeats AS (
    SELECT
        CAST(count(*) AS BIGINT) AS shortened,
        CAST(coalesce(sum(r.is_merged), 0) AS BIGINT) AS merged
    FROM searches AS s
    INNER JOIN lists_with_repeats AS r ON s.list_fp = r.list_fp
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
    r.merged - b.carried_merged AS merged,
    c.carried_clicks
FROM counted_searches AS u
CROSS JOIN kept_searches AS k
CROSS JOIN carried_with_repeats AS b
CROSS JOIN kept_with_repeats AS r
CROSS JOIN counted_clicks AS c
