"""Judgments → grades on the lists of the pattern table.

- ``prepare``: one grade per (judge, market, query, url).
- ``shown``: results of lists, one row each, and their grades.
- ``join``: the judged configurations of one depth and judge.
- ``unjudged``: results without a grade, by a stated rule.
- ``next_to_judge``: which to judge next; ``too_few``: what to say when there are too few.
"""
