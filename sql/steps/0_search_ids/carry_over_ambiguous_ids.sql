-- one row per search_id that is known to be ambiguous, as it is read
SELECT search_id
FROM ambiguous_id_texts
UNION
SELECT search_id
FROM ambiguous_log
ORDER BY search_id
