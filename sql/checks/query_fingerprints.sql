-- a fingerprint that two different queries share: must be none
SELECT query_fp
FROM shown_texts
GROUP BY query_fp
HAVING min(market) <> max(market) OR min(raw_query) <> max(raw_query)
