-- one row per click in time whose URL is not in the list of its search, both as they were read
SELECT row_nr
FROM attributed_clicks
WHERE in_time AND position IS NULL
