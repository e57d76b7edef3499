"""Published results of other logs, to be shown next to those of a run.

- ``read``: the files ``<name>.toml`` here; ``own``: the rows of the run that correspond to them.
"""
