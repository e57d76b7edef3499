"""Rules that a run must keep (`clickassay check`).

- ``grammar``: rules in one line of text each; ``rules_file``: rules of a file; ``names``: metrics of a run.
- ``quantities``: the numbers that a rule may limit, read from a run with their intervals.
- ``check``: whether a run keeps its rules, and is no worse than another; ``outcome``: what became of a rule.
"""
