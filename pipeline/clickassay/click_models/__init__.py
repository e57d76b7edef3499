"""Click models: what users examine and what attracts them, fitted on counts of click patterns.

- ``model``, ``catalogue``: what every model can be asked; the models by name.
- ``click_log``: what they are fitted on.
- ``em``, ``factorised``, ``cascade``: how they are fitted.
- ``comparison``: fitted on some sessions, tried on others.
- ``examination``, ``by_grade``, ``expectation``: what is read off a fit.
- ``tables``: fits as tables.
- ``cascade_effects``: Figure 2 of Chapelle et al. 2009, which needs no model.
"""
