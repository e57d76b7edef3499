-- one row per search whose (user, normalised query) is repeated: its session, and the first search of that session
WITH repeated AS (
    SELECT
        v.search_fp,
        v.user_fp,
        v.list_fp,
        v.time_ms,
        v.page,
        v.user_digest,
        v.normal_fp,
        v.search_id,
        v.visit
    FROM visits AS v
    SEMI JOIN repeated_pairs AS p ON v.user_fp = p.user_fp AND v.normal_fp = p.normal_fp
)

SELECT
    search_fp,
    user_fp,
    normal_fp,
    visit,
    user_digest,
    time_ms,
    row_number() OVER (
        PARTITION BY user_fp, normal_fp, visit
        ORDER BY time_ms, search_id, search_fp
    ) AS place_in_session,
    first_value(list_fp) OVER (
        PARTITION BY user_fp, normal_fp, visit
        ORDER BY time_ms, search_id, search_fp
    ) AS list_fp,
    first_value(page) OVER (PARTITION BY user_fp, normal_fp, visit ORDER BY time_ms, search_id, search_fp) AS page
FROM repeated
