"""A log cut into batches.

- ``chunks``: row groups and their times; ``windows``: windows of time; ``cutting``: which windows.
- ``estimate``: what a run over a log would do and need.
"""
