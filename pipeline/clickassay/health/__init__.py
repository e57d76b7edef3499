"""Whether a log and its judgments are sound: checks with thresholds, severities and remedies.

- ``checks``: the checks as rows, and the engine that runs them; ``measures``: the numbers that they look at.
- ``forms``: in which form log and judgments would name the same.
- ``overlap``: whether two inputs share a name, and ranks agree with scores.
- ``examples``: rows of the log that show what is wrong; they are looked for only then.
"""
