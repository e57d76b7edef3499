-- one row per wanted search_id that a usable search has
SELECT DISTINCT search_fp
FROM usable_searches
