"""Questions asked of what a run left, or beside it; each study by itself.

- ``finished_run``: a run folder read back, for all studies of one.
- ``questions``: ready questions and free SQL.
- ``runs_compared``: two runs, and whether a change is noise (`clickassay diff`).
- ``audit``: the same metric under other tools' conventions.
- ``evaluation``: ranked lists against judgments, without clicks.
- ``gain_learning``: gains and utilities learned from clicks.
- ``labelling``: what to label under a budget, and estimates from labels.
- ``explorer``: the local page of `clickassay explore`.
"""
