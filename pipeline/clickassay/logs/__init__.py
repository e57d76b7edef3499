"""Raw log → sessions → pattern table (sessionisation): the only place with engines.

- ``chunks``: row groups and their times; ``log``: searches and clicks, here or where only an engine reaches.
- ``batches``: a log cut into batches, and what a run over it costs; ``outcomes``: given for searches.
- ``sql``: the sequence of SQL steps, what runs them, and their dialects.
- ``duckdb``: the steps on DuckDB, in this process; ``spark``: on Spark, for logs that outgrow one machine.
- ``arrays``: what the steps say, with Polars and NumPy instead of SQL: the default.
- ``grow``: a pattern store brought up to a log, reading only new files.
"""
