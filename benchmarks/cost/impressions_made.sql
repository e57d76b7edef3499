-- a row for each result shown, with the time of each of its clicks, and batches of 1,000 searches in order
COPY (
    WITH searches AS (
        SELECT
            search_id,
            user_id,
            query,
            timestamp,
            results,
            file_row_number // 1000 AS batch
        FROM read_parquet($searches, file_row_number = true)
        WHERE
            len(results) > 0
            AND file_row_number >= $first
            AND file_row_number < $end
    ),

    shown AS (
        SELECT
            search_id,
            user_id,
            query,
            timestamp,
            batch,
            unnest(results) AS url,
            generate_subscripts(results, 1) - 1 AS position
        FROM searches
    ),

    clicks AS (
        SELECT DISTINCT
            search_id,
            url,
            timestamp
        FROM read_parquet($clicks)
    )

    SELECT
        s.search_id,
        s.user_id,
        s.query,
        s.timestamp,
        s.url,
        s.position,
        c.timestamp AS clicked_at
    FROM shown AS s
    LEFT JOIN clicks AS c
        ON
            s.search_id = c.search_id
            AND s.url = c.url
    ORDER BY batch
) TO $shown
