-- one row per search of this batch: fingerprints and numbers instead of texts
SELECT
    row_number_of_its_own() AS row_nr,
    carried,
    search_id,
    search_fp,
    user_id,
    user_fp,
    query_fp,
    list_fp,
    time_ms,
    page,
    TRUE AS is_kept,
    -- the arm of an A/B test, where searches say it
    CASE WHEN $arms_by_search AND experiment <> '' AND variant <> '' THEN experiment END AS experiment,
    CASE WHEN $arms_by_search AND experiment <> '' AND variant <> '' THEN variant END AS variant,
    teams_fp,
    teams_fit,
    reason
FROM searches_to_read
