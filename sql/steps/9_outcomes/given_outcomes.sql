-- one row per outcome that is given for a search whose id is unambiguous: its session
SELECT
    s.first_nr,
    s.is_open,
    s.list_fp,
    s.page,
    s.user_id,
    o.outcome,
    o.is_rating,
    o.value AS outcome_value,
    o.given_rows
FROM session_of_searches AS s
INNER JOIN outcomes_log AS o ON s.search_fp = id_fingerprint(o.search_id)
ANTI JOIN known_ambiguous_ids AS a ON s.search_fp = a.search_fp
