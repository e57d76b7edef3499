-- Where do searches, clicks, sessions and judgments get lost: what part of a step's rows leaves, and why?
WITH parts AS (
    SELECT
        source,
        market,
        depth,
        judge,
        step,
        reason,
        rows AS n_rows,
        rows / nullif(sum(rows) OVER (PARTITION BY source, market, depth, judge, step), 0) AS part_of_step
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
    part_of_step
FROM parts
WHERE reason <> '' AND n_rows > 0
ORDER BY source, market, depth, judge, n_rows DESC, step, reason
