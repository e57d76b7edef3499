"""The array engine, the default: Polars decodes and hashes, NumPy does the rest on 64-bit numbers.

Modules with the names of folders of ``sql/steps`` do what these do: ``search_ids``, ``read_searches``,
``normalise_urls``, ``clean_searches``, ``clicks``, ``visits``, ``sessions``, ``patterns``, ``carry_over``.

- ``numbers``: numbers for keys; ``columns``: searches and clicks of a batch;
  ``shown``: texts that are kept.
- ``engine``: a batch, from its rows to its counts; ``job``: a whole log, and the batches of a store.

All of it runs in the thread of the caller, but that Polars asks for the pieces of the table while it writes.
"""
