"""Logs from planted user models, with the truth beside them: for tests, trials and teaching.

- ``simulation``: a whole log, and what was planted in it; ``worlds``: how users click.
- ``corpus``, ``words``: what is searched; ``judging``: what editors say.
- ``traffic``, ``rows``, ``writing``: who searches when; rows; files.

What draws takes ``rng``, the source of all chance in it.
"""
