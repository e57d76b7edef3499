"""Analyses of a finished run, or without a run; each study is independent of the others.

- ``questions``: ready questions and SQL on the tables of a run (`clickassay query`).
- ``runs_compared``: two runs, with tests of the changes (`clickassay diff`).
- ``audit``: the same metric under the conventions of other tools (`clickassay audit`).
- ``evaluation``: rankings against judgments, without clicks (`clickassay evaluate`).
- ``gain_learning``: gains and utilities learned from clicks (`clickassay learn`).
- ``labelling``: queries to label under a budget, and estimates from labels (`clickassay plan`, `estimate`).
- ``explorer``: the local page of a run (`clickassay explore`).
"""
