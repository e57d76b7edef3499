"""Numbers that others published about other logs, to be shown beside a run.

- ``read``: the files ``<name>.toml`` here; ``own``: what of the run stands beside a value.
"""
