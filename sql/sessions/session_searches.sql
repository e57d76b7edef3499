-- one row per search whose (user, normalised query) is repeated: its session, and the first search of that session
SELECT
    v.search_fp,
    v.user_fp,
    v.normal_fp,
    v.visit,
    v.user_digest,
    row_number() OVER (
        PARTITION BY v.user_fp, v.normal_fp, v.visit
        ORDER BY v.time_ms, v.search_id, v.search_fp
    ) AS place_in_session,
    first_value(v.query_fp) OVER (
        PARTITION BY v.user_fp, v.normal_fp, v.visit
        ORDER BY v.time_ms, v.search_id, v.search_fp
    ) AS query_fp,
    first_value(v.list_fp) OVER (
        PARTITION BY v.user_fp, v.normal_fp, v.visit
        ORDER BY v.time_ms, v.search_id, v.search_fp
    ) AS list_fp,
    first_value(v.page) OVER (
        PARTITION BY v.user_fp, v.normal_fp, v.visit
        ORDER BY v.time_ms, v.search_id, v.search_fp
    ) AS page
FROM visits AS v
SEMI JOIN repeated_pairs AS p ON v.user_fp = p.user_fp AND v.normal_fp = p.normal_fp
