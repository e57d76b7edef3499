"""Measures of ranked lists against judgments, as trec_eval and ir_measures have them.

- ``lists``: runs joined with judgments; ``joins``: what judgments and rankings have in common.
- ``bounds``: the least and the largest values over the grades of results without one.
- ``evaluate``: values by query, means, comparisons; ``compare``, ``curves``: their parts.
- ``catalogue``: the measures as a table; ``conventions``: definitions that the values depend on, in words.
- ``forms``: the tables; ``job``, ``report``: an evaluation as text, and as a folder with a report.
"""
