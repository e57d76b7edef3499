-- one row per (query, result list) and URL: the URL's position is its first place
SELECT
    query_fp,
    list_fp,
    url_fp,
    CAST(min(place) AS BIGINT) AS position
FROM list_places
GROUP BY query_fp, list_fp, url_fp
