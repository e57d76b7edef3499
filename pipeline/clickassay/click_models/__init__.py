"""Click models: what users examine and what attracts them, fitted on counts of click patterns.

- ``model``, ``catalogue``: the interface of every model; the models by name.
- ``click_log``: what they are fitted on.
- ``em``, ``factorised``, ``cascade``: how they are fitted; ``response``: how on nearly the same log.
- ``comparison``: fitted on some sessions, evaluated on others.
- ``expectation``: the clicks that a fit expects.
- ``tables``: fits as tables.
- ``effects``: what follows from a fit, and what the log shows without a model.
"""
