-- one row per action that is a signal
SELECT DISTINCT action
FROM attributed_events
WHERE
    action NOT IN ('click', 'satisfied', 'satisfied if followed')
    AND (holds_item($signals, action) OR ($every_action AND action NOT IN ('impression', 'view', 'scroll')))
