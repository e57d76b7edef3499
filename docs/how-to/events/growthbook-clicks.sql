-- GrowthBook, interleaving: engagements with the results of a ranking; where there are several kinds, add
-- event AS action.
SELECT ranking_id AS search_id, "timestamp", item_id AS url
FROM engagements
WHERE ranking_id IS NOT NULL
