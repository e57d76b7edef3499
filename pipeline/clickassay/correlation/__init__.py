"""Judged configurations → correlations of click metrics with offline metrics.

- ``weighted``, ``rankers``, ``within``: the three correlations; ``estimates``: with their intervals.
- ``uncertainty``: standard errors, what sampling does, many tests at once, power.
- ``comparisons``, ``influence``, ``classes``: pairs of metrics, queries and splits.
- ``agreement``, ``disagreements``: how far judges agree; whose order clicks support.
- ``conventions``: one metric under the conventions of many tools.
- ``tables``: as rows of a run's tables.
"""
