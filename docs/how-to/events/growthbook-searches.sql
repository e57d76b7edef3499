-- GrowthBook, interleaving: the first exposure of each ranking, with its items in the order shown, in a table exposures;
-- queries has the query of each ranking_id. A user's further pages of one draft are left out.
WITH drafted AS (
    SELECT DISTINCT ON (ranking_id) *, from_json(items, '["JSON"]') AS shown
    FROM exposures
    WHERE ranking_id IS NOT NULL
    ORDER BY ranking_id, "timestamp"
)

SELECT
    ranking_id AS search_id,
    user_id,
    query,
    "timestamp",
    list_transform(shown, lambda item: coalesce(item ->> 'itemId', item ->> 'item_id')) AS results,
    experiment_id AS experiment,
    list_transform(shown, lambda item: coalesce(item ->> 'ranker', item ->> 'variation')) AS teams
FROM drafted
INNER JOIN queries USING (ranking_id)
