"""Click models: what users examine and what attracts them, fitted on counts of click patterns.

- ``model``, ``catalogue``: the interface of every model; the models by name.
- ``click_log``: what they are fitted on.
- ``em``, ``factorised``, ``cascade``: how they are fitted.
- ``comparison``: fitted on some sessions, evaluated on others; examination. ``tables``: fits as tables.
- ``by_grade``: models of grades, and the clicks that a fit expects.
- ``position_bias``, ``cascade_effects``: what the log shows without a model.
"""
