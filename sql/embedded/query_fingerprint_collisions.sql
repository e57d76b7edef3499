-- a fingerprint that two different queries share: must be none
SELECT q.query_fp
FROM texts_read AS t
INNER JOIN query_texts AS q ON t.query_fp = q.query_fp
WHERE t.market <> q.market OR t.query <> q.raw_query
