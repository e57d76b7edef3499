"""Logs from planted user models, with their truth: for tests, trials and teaching.

- ``simulation``: a whole log, and what was planted in it; ``worlds``: how users click.
- ``corpus``, ``words``: queries, documents and rankings; ``judging``: grades of the editors.
- ``traffic``, ``rows``: who searches when; rows. ``indices``: what they look up, fast.
- ``tests``: A/B tests and interleaved tests, and what is wrong with some.
- ``writing``: files, written in threads.

A function that draws takes ``rng``, its only source of randomness.
"""
