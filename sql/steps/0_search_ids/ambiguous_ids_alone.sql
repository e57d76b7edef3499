-- one row per search_id that is known to be ambiguous: those of this log, as it is the first part
SELECT search_fp
FROM ambiguous_ids
