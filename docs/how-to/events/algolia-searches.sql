-- Algolia: responses of search with clickAnalytics, as the site logs them (with userToken and time), below algolia/.
-- Insights events name lists by queryID alone, so the responses are needed.
SELECT
    queryID AS search_id,
    userToken AS user_id,
    query,
    "timestamp",
    list_transform(hits, lambda h: h.objectID) AS results,
    page + 1 AS page                                    -- Algolia counts pages from 0
FROM read_json('algolia/responses*.jsonl', format = 'newline_delimited')
ORDER BY "timestamp"
