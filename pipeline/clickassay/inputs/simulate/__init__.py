"""Logs from planted user models, with their truth: for tests, trials and teaching.

- ``simulation``: a whole log, and what was planted in it; ``worlds``: how users click.
- ``corpus``, ``words``: queries, documents and rankings; ``judging``: grades of the editors.
- ``traffic``, ``rows``, ``writing``: who searches when; rows; files.

A function that draws takes ``rng``, its only source of randomness.
"""
