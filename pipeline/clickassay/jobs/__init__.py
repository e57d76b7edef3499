"""What a command does from start to end; the only floor that knows the order of the stages.

- ``run``, ``analyse``: logs and judgments to a run folder; what happens between pattern table and tables.
- ``strata``: judged configurations by depth, judge and rule for what is unjudged.
- ``click_models``: click models, of a run and by themselves.
- ``patterns``, ``stores``, ``dry_run``: logs to a pattern table, to a store that grows, or only planned.
- ``inspect``, ``preview``: what a file holds, and what a foreign log would be once imported.
"""
