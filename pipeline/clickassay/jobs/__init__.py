"""The work of a command from start to end; the only package that knows the order of the stages.

- ``run``, ``analyse``: from logs and judgments to a run folder; from a pattern table to the tables of a run.
- ``inputs``: the inputs of a job, opened once.
- ``health``: the checks of a log and its judgments, from the tables of a run.
- ``strata``: metrics of judged configurations by depth and judge, and by rule for unjudged results.
- ``click_models``: click models, of a run and by themselves.
- ``patterns``, ``stores``: logs to a pattern table, logs to a store, and plans of both.
- ``inspect``: the contents of a log before a run, and of a foreign log before its import.
"""
