"""Metrics: click metrics are functions of a click mask, offline metrics functions of grades.

- ``definition``: what a metric is; ``names``: the grammar of names.
- ``clicks``, ``editorial``, ``ranked``: the metrics, a function and a record each.
- ``catalogue``: all of them; ``scoring``: their values on judged configurations.
- ``lists``: ranked lists, and values of measures on them.
- ``conventions``: how tools define one metric.
"""
