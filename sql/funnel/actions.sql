-- one row per step, reason and whether they may still change: rows with another action than click, carried ones too
WITH every AS (
    SELECT
        CASE WHEN carried THEN 'carried' WHEN reason IS NULL THEN 'usable' ELSE 'rejected' END AS step,
        CASE WHEN carried OR reason IS NULL THEN '' ELSE reason END AS reason,
        FALSE AS is_open
    FROM clicks_read
    WHERE action <> 'click'
    UNION ALL
    SELECT
        step,
        reason,
        is_open
    FROM action_outcomes
)

SELECT
    step,
    reason,
    is_open,
    CAST(count(*) AS BIGINT) AS actions
FROM every
GROUP BY step, reason, is_open
