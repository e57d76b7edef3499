"""Models of a user who goes down the list: DCM, SDBN, DBN, CCM.

- ``model``: the models.
- ``fit``: their expectation maximisation.
- ``posterior``: expectations of what is hidden after the last click.
"""
