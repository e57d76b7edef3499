-- one row per name and key, of rows that are new in this batch: usable searches by day, minute of the day and bucket
-- of users, with the lowest bits of the users' digests, and usable clicks by day
WITH new_searches AS (
    SELECT
        user_fp,
        user_id,
        time_ms
    FROM usable_searches
    WHERE NOT carried
),

-- minutes are counted once, for the days and for the minutes of a day: there are far fewer of them than searches
minutes AS (
    SELECT
        minute_of(time_ms) AS minute_nr,
        CAST(count(*) AS BIGINT) AS searches
    FROM new_searches
    GROUP BY minute_of(time_ms)
),

users AS (
    SELECT
        spread(user_digest(min(user_id))) AS digest,
        CAST(count(*) AS BIGINT) AS searches
    FROM new_searches
    GROUP BY user_fp
),

counted AS (
    SELECT
        'searches_by_day' AS counted_as,
        day_of_minute(minute_nr) AS bucket_nr,
        CAST(sum(searches) AS BIGINT) AS counted_rows
    FROM minutes
    GROUP BY day_of_minute(minute_nr)
    UNION ALL
    SELECT
        'searches_by_minute' AS counted_as,
        minute_nr % 1440 AS bucket_nr,
        CAST(sum(searches) AS BIGINT) AS counted_rows
    FROM minutes
    GROUP BY minute_nr % 1440
    UNION ALL
    SELECT
        'searches_by_users' AS counted_as,
        digest % 4096 AS bucket_nr,
        CAST(sum(searches) AS BIGINT) AS counted_rows
    FROM users
    GROUP BY digest % 4096
    UNION ALL
    SELECT
        'lowest_bits_by_users' AS counted_as,
        digest % 4096 AS bucket_nr,
        max(lowest_bit(digest)) AS counted_rows
    FROM users
    GROUP BY digest % 4096
    UNION ALL
    SELECT
        'clicks_by_day' AS counted_as,
        day_of(time_ms) AS bucket_nr,
        CAST(count(*) AS BIGINT) AS counted_rows
    FROM usable_clicks
    WHERE NOT carried
    GROUP BY day_of(time_ms)
)

SELECT
    counted_as AS name, -- noqa: RF04
    bucket_nr AS key, -- noqa: RF04
    counted_rows AS value -- noqa: RF04
FROM counted
