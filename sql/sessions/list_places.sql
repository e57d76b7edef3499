-- one row per place of each (query, result list): the fingerprint of the normalised URL there
WITH places AS (
    SELECT
        query_fp,
        list_fp,
        results,
        unnest(places_of(results)) AS place
    FROM shown_texts
)

SELECT
    query_fp,
    list_fp,
    CAST(place AS BIGINT) AS place,
    fingerprint(element_of(results, place)) AS url_fp
FROM places
