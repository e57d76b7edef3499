"""The array engine, the default: Polars decodes and hashes, NumPy does the rest on 64-bit numbers.

A module with the name of a folder of ``sql/steps`` does the same as the steps in it.

- ``columns``: searches and clicks of a batch, as numbers; ``shown``: texts that are kept.
- ``engine``: a batch, from its rows to its counts; ``job``: a whole log, and the batches of a store.

All of it runs in the thread of the caller, but that Polars asks for the pieces of the table while it writes.
"""
