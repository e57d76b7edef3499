"""Metrics: click metrics are functions of a click mask, editorial metrics functions of grades.

- ``definition``: what a metric is; ``names``: the grammar of names.
- ``clicks``, ``editorial``, ``ranked``, ``click_model_metrics``: the metrics, a function and a record each.
- ``gains``: gains, discounts, ideal lists.
- ``catalogue``: all of them; ``scoring``: their values on judged configurations.
- ``lists``: ranked lists, and values of measures on them.
- ``tools``: how tools define one metric.
"""
