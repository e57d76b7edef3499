"""Whether a log and its judgments are sound: checks with thresholds, severities and remedies.

- ``checks``: the checks as data: names, severities, thresholds, and what was found.
- ``log_checks``, ``list_checks``, ``judgment_checks``: what each looks at, in counts that were kept.
- ``join_checks``, ``forms``: whether log and judgments name the same, and in which form they would.
- ``overlap``: whether two inputs share a name, and ranks agree with scores.
- ``time_checks``: pauses and hours, from the rows of a log.
- ``examples``: rows of the log that show what is wrong; they are looked for only then.
"""
