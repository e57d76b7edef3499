"""The engine for logs that outgrow one machine; all that knows Spark is here.

- ``session``: found or started; ``errors``: what it says when it fails, in one line.
- ``folders``, ``read``, ``remote``, ``windows``: logs where they lie.
- ``engine``: the steps on Spark; ``builder``: a whole log; ``batches``: the batches of a store.
- ``job``: a pattern table written from Spark.
"""
