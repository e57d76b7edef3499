"""The tables: columns, types, grain and meaning.

- ``form``: what a table's form is; ``columns``: columns that several have.
- ``patterns``: the pattern table and the funnel.
- ``run``: all tables of a run; their parts in ``correlation``, ``clicks``, ``judges``, ``judgments``,
  ``conventions``.
"""
