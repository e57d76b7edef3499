-- one row: size and order-free checksum of a table (market, query, results, click_mask, sessions)
SELECT
    count(*) AS patterns,
    coalesce(sum(sessions), 0)::BIGINT AS sessions,
    coalesce(sum(md5_number_lower(
        concat_ws(chr(31), market, query, array_to_string(results, chr(31)), click_mask, sessions)
    )), 0) % 18446744073709551616 AS checksum
FROM pattern_rows
