-- one row per (user, normalised query) with more than one search: only these form sessions of several searches
SELECT
    user_fp,
    query_fp,
    -- searches at most the idle limit apart are one visit, whatever else the user did: activity only prolongs it
    max(time_ms) - min(time_ms) > $idle_ms AS may_span_visits
FROM possible_repeats
GROUP BY user_fp, query_fp
HAVING count(*) > 1
