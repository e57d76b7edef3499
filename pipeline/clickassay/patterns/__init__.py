"""The pattern table: rows (configuration, click pattern, sessions), all that the rest needs to know of a log.

- ``table``: the record and its checks; ``identity``: the id of a configuration; ``digests``: of users.
- ``lists``: its lists by number, as a report needs them; ``sums``: sessions counted by packed keys.
- ``results``: their results by number.
- ``folders``: written and read back.
- ``funnel``, ``counts``: how many rows left at which step, and why.
- ``health``: counts that show whether a log is sound.
- ``store``: a table in batches, which grows.
"""
