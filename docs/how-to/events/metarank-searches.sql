-- Metarank, its events as JSON lines, below metarank/; the query is a field of the ranking.
SELECT
    id AS search_id,
    "user" AS user_id,
    list_filter(fields, lambda f: f.name = 'query')[1].value AS query,
    CAST("timestamp" AS BIGINT) AS "timestamp",
    list_transform(items, lambda i: i.id) AS results
FROM read_json('metarank/*.jsonl', format = 'newline_delimited', union_by_name = true)
WHERE event = 'ranking'
ORDER BY "timestamp"
