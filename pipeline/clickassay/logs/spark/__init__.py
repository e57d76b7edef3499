"""The engine for logs that outgrow one machine; nothing else imports Spark.

- ``session``: found or started; ``errors``: errors of Spark in one line that names cause and remedy.
- ``read``, ``remote``: logs where they lie; ``engine``: the steps; ``job``: a pattern table made by them.
"""
