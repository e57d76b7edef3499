"""The array engine, the default: Polars decodes and hashes, NumPy does the rest on 64-bit numbers.

- ``steps``: a module with the name of a folder of ``sql/steps`` does the same as the steps in it.
- ``columns``: searches and clicks of a batch, as numbers; ``shown``: texts that are kept.
- ``engine``: a batch, from its rows to its counts; ``job``: a whole log, and the batches of a store.
- ``workers``: threads. They read pieces of a batch while the batch before is counted, and count it by parts
  of the users (``forming``), which need nothing from each other; ``routes`` finds the part of a click.
- ``table``: the pattern table, made of the counts of all parts.

Several threads may ask for texts at a time; new ones are added under a lock, and can be found once they are
whole.
"""
