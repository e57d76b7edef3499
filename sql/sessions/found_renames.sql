-- one row per URL of this batch whose normal form differs from what was read
SELECT
    url_fp,
    normal_fp
FROM renames_read
