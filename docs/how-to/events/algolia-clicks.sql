-- Insights events; a click may name several objects.
SELECT queryID AS search_id, "timestamp", unnest(objectIDs) AS url
FROM read_json('algolia/events*.jsonl', format = 'newline_delimited')
WHERE eventType = 'click' AND queryID IS NOT NULL
ORDER BY "timestamp"
