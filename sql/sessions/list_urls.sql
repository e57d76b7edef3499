-- one row per result list and URL: the URL's position is its first place
SELECT
    list_fp,
    url_fp,
    CAST(min(place) AS BIGINT) AS position
FROM list_places
GROUP BY list_fp, url_fp
