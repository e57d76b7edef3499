"""The embedded engine: Polars reads and hashes, DuckDB runs the steps.

- ``scan``: how a log is read; ``engine``: DuckDB.
- ``sessioniser``: the sequence of steps; ``search_ids``: ids over the whole log.
- ``build``: a whole log; ``batches``: the batches of a store.
"""
