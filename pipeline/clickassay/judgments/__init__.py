"""Judgments → grades on the lists of the pattern table.

- ``prepare``: one grade per (judge, market, query, url).
- ``join``: results of lists and their grades; the judged configurations of one depth and judge.
- ``unjudged``: grades for results without a judgment, by a stated rule; ``relevance``: grades of clicks.
- ``next_to_judge``: what to judge next, and the message when there are too few judgments.
"""
