"""A log cut into batches.

- ``windows``: windows of time, one for a batch; ``cutting``: where a log is cut.
- ``lone_search``: a last search that a wrong clock put far behind all others.
- ``estimate``: time, memory and disk of a run over a log.
"""
