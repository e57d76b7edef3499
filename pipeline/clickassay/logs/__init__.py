"""Raw log → sessions → pattern table (sessionisation): the only place with engines.

- ``chunks``: row groups and their times; ``log``: searches and clicks, here or where only an engine reaches.
- ``steps``: the sequence of SQL steps; ``engine``: methods of an engine; ``translate``: SQL in its dialect.
- ``batches``: a log cut into batches, and what a run over it costs.
- ``sql_sessioniser``: all of the steps on an engine that runs SQL; ``sql_batches``: a store's batches so.
- ``arrays``: the same in this process with Polars and NumPy, the default.
- ``duckdb``: all of the steps on DuckDB; ``spark``: on Spark, for logs that outgrow one machine.
- ``script``: the steps as a script of SQL for another scheduler.
- ``grow``: a pattern store brought up to a log, reading only new files.
"""
