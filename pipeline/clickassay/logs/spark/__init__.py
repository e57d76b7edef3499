"""The engine for logs that outgrow one machine; nothing else imports Spark.

- ``session``: found or started; ``errors``: errors of Spark in one line that names cause and remedy.
- ``folders``, ``read``, ``uris``, ``remote``: logs where they lie.
- ``engine``: the steps on Spark; ``job``: a pattern table written from Spark.
"""
