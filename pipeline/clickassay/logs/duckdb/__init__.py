"""The engine that runs all of the declared steps on DuckDB, in this process.

- ``engine``: the steps on DuckDB; ``read``: a log as DuckDB sees it.
- ``job``: a pattern table written from DuckDB; the batches of a store.
"""
