"""The sections of a report: each module turns the run into `Section` records.

- ``overview``: the first screen.
- ``log``: the data, judges, results without a judgment, what to judge next.
- ``correlation``: correlations, comparisons, baselines, two rankers, classes, influence.
- ``users``: examination, the cascade effect, signals, and clicks free of position bias.
- ``context``: conventions of other tools, provenance.
"""
