"""Judged configurations → correlations of click metrics with editorial metrics.

- ``weighted``, ``rankers``: the two correlations; ``noise``: what sampling does to them.
- ``jackknife``, ``estimates``: intervals, those of means over sessions too; ``multiplicity``: many tests at
  once; ``tails``: whether sessions are spread too unevenly for intervals.
- ``comparisons``, ``influence``, ``classes``, ``judges``: pairs of metrics, queries, splits and judges.
- ``conventions``: one metric under the conventions of many tools.
- ``power``: how much data a difference needs.
- ``tables``: as rows of a run's tables.
"""
