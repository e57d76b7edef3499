-- one row per search_id that is known to be ambiguous, from this log or from earlier parts of it
SELECT search_fp
FROM ambiguous_ids
UNION
SELECT search_fp
FROM ambiguous_ids_before
