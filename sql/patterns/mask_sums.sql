-- one row per click mask: sessions of the pattern table
SELECT
    click_mask,
    CAST(sum(sessions) AS BIGINT) AS sessions
FROM patterns
GROUP BY click_mask
