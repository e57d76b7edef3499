-- one row per URL whose normal form differs from what was read
SELECT DISTINCT
    url_fp,
    normal_fp
FROM found_renames
