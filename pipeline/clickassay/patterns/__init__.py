"""The pattern table: rows (configuration, click pattern, sessions), all that the rest needs to know of a log.

- ``table``: the record, its checks and its folder; ``places``: what a path is; ``digests``: ids and digests.
- ``lists``: its lists and their results by number, as a report needs them; ``sums``: sessions counted.
- ``funnel``: how many rows left at which step, and why; ``health``: counts that show whether a log is sound.
- ``store``: a table in ``batches``, which grows.
"""
