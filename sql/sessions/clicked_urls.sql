-- one row per URL that a click names, as it was read
SELECT url_fp
FROM texts_read
