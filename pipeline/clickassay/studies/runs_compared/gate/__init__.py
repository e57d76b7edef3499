"""Rules that a run must keep (`clickassay check`).

- ``grammar``: rules in one line of text each; ``rules_file``: those of a file; ``names``: metrics of a run.
- ``quantities``: the numbers that a rule may limit, read from a run with their intervals.
- ``check``: whether a run keeps its rules; ``another_run``: whether it is worse than another one;
  ``outcome``: what became of a rule.
"""
