-- one row per click that is read again with the next batch, as it was read
WITH still_open AS (
    SELECT DISTINCT
        r.search_fp,
        r.time_ms,
        coalesce(r.raw_url_fp, 0) AS raw_url_fp,
        coalesce(r.place, 0) AS place
    FROM clicks_read AS r
    SEMI JOIN open_clicks AS c ON r.row_nr = c.row_nr
)

SELECT
    l.search_id,
    l.timestamp,
    l.url,
    l.position
FROM clicks_log AS l
SEMI JOIN still_open AS o
    ON
        id_fingerprint(l.search_id) = o.search_fp AND l.timestamp = o.time_ms
        AND coalesce(text_fingerprint(l.url), 0) = o.raw_url_fp AND coalesce(l.position, 0) = o.place
ORDER BY l.timestamp, l.search_id, l.url NULLS FIRST, l.position NULLS FIRST
