"""The array engine, the default: Polars decodes and hashes, NumPy does the rest on 64-bit numbers.

Modules have the names of the folders of ``sql/steps``, whose meaning they share:
``search_ids``, ``read_searches``, ``normalise_urls``, ``clean_searches``, ``clicks``, ``visits``, ``sessions``,
``patterns``, ``carry_over``. Beside them: ``numbers`` (numbers for keys), ``engine`` (a batch, and a whole
log), ``batches`` (the batches of a store). All of it runs in the thread of the caller.
"""
