"""A log cut into batches.

- ``windows``: windows of time, one for a batch; ``cutting``: where a log is cut.
- ``estimate``: time, memory and disk of a run over a log.
"""
