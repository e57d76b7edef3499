-- one row per search_id that is known to be ambiguous: those of this log, which is read in one batch
SELECT search_fp
FROM ambiguous_ids
