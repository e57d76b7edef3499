"""Judgments → grades on the lists of the pattern table.

- ``prepare``: one grade per (judge, market, query, url).
- ``shown``: results of lists, one row each, and their grades.
- ``join``: the judged configurations of one depth and judge.
- ``unjudged``: grades for results without a judgment, by a stated rule.
- ``next_to_judge``: what to judge next; ``too_few``: the message when there are too few judgments.
"""
