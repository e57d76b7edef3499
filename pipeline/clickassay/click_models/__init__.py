"""Click models: what users examine and what attracts them, fitted on counts of click patterns.

- ``model``, ``catalogue``: the interface of every model; the models by name.
- ``click_log``: what they are fitted on.
- ``em``, ``factorised``, ``cascade``: how they are fitted; ``response``: how on nearly the same log.
- ``comparison``: fitted on some sessions, evaluated on others.
- ``examination``, ``by_grade``, ``expectation``: what follows from a fit.
- ``tables``: fits as tables.
- ``cascade_effects``: Figure 2 of Chapelle et al. 2009, which needs no model.
- ``below_better``: the test of all queries together that it needs.
"""
