"""The parts of a report: each module turns the run into `Section` records, words included.

- ``log``: the data, judges, what is unjudged, what to judge next.
- ``correlation``: correlations, comparisons, baselines, two rankers, classes, influence.
- ``users``: examination and the cascade effect.
- ``context``: conventions, published numbers, provenance.
"""
