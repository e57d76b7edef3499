-- one row per place of each result list shown: the URL there, as it was read
SELECT
    list_fp,
    place,
    url_fp
FROM places_read
