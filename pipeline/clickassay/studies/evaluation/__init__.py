"""Measures of ranked lists against judgments, as trec_eval and ir_measures have them.

- ``lists``, ``values``: lists with grades; values of measures on them.
- ``evaluate``: values by query, means, comparisons; ``compare``, ``curves``: their parts.
- ``catalogue``, ``conventions``: the measures as a table; what numbers rest on, in words.
- ``forms``: the tables; ``job``, ``report``: as text and as a folder.
"""
