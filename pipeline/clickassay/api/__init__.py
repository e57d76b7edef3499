"""Functions for Python, which the package itself offers by their names.

- ``run``: a log and judgments to a run, and runs that lie in folders.
"""
