-- one row per result list of this batch: the fingerprints of its URLs in normal form
SELECT
    list_fp,
    texts_fingerprints(normal_results($normalise_urls, has_unnormalised_urls, raw_results)) AS urls
FROM list_texts
