-- one row per search_id that is known to be ambiguous: those of this log, as nothing was read before it
SELECT search_fp
FROM ambiguous_ids
