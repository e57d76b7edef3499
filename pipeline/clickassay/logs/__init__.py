"""Raw log → sessions → pattern table: the big step, and the only place with engines.

- ``chunks``: row groups and their times; ``log``: a log of two halves, here or where only an engine reaches.
- ``steps``: the sequence of SQL steps; ``engine``: what it asks of an engine; ``translate``: SQL for others.
- ``batches``: a log cut into batches, and what a run over it will cost.
- ``embedded``: DuckDB and Polars in this process, the default.
- ``spark``: Spark, for logs that outgrow one machine.
- ``script``: the steps written down for another scheduler.
- ``grow``: a store that takes only what is new.
"""
