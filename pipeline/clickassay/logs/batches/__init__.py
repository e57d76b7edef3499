"""A log cut into batches.

- ``windows``: windows of time; ``cutting``: which windows.
- ``estimate``: what a run over a log would do and need.
"""
