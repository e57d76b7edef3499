-- the floor: read and hash every column of the impressions, and do nothing more with it
SELECT
    bit_xor(hash(search_id)) AS search_ids,
    bit_xor(hash(user_id)) AS user_ids,
    bit_xor(hash(query)) AS queries,
    bit_xor(hash(timestamp)) AS times,
    bit_xor(hash(url)) AS urls,
    bit_xor(hash(position)) AS positions,
    bit_xor(hash(clicked_at)) AS click_times,
    count(*) AS n_shown
FROM read_parquet($shown)
