-- one row per place of each (query, result list) shown: the URL there, as it was read
SELECT
    query_fp,
    list_fp,
    place,
    url_fp
FROM places_read
