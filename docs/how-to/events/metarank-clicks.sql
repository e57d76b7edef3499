SELECT ranking AS search_id, CAST("timestamp" AS BIGINT) AS "timestamp", item AS url
FROM read_json('metarank/*.jsonl', format = 'newline_delimited', union_by_name = true)
WHERE event = 'interaction' AND type = 'click'
ORDER BY "timestamp"
