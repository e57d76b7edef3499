-- one row per result list with a URL that normal form changes: the fingerprints of its URLs' normal forms
SELECT
    list_fp,
    texts_fingerprints(normal_results(TRUE, TRUE, raw_results)) AS urls
FROM list_texts
WHERE has_unnormalised_urls
