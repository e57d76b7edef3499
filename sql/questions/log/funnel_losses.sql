-- Where do searches, clicks, sessions and judgments get lost, why, and what part of all of them is it?
WITH parts AS (
    SELECT
        source,
        market,
        depth,
        judge,
        step,
        reason,
        rows AS n_rows,
        max(rows) FILTER (WHERE reason = '') OVER (PARTITION BY source, market) AS n_all
    FROM funnel
)

SELECT
    source,
    market,
    depth,
    judge,
    step,
    reason,
    n_rows,
    n_all,
    n_rows / nullif(n_all, 0) AS part
FROM parts
WHERE reason <> '' AND n_rows > 0
ORDER BY source, market, depth, judge, n_rows DESC, step, reason
