"""`clickassay explore`: a local page for the engineer behind a report (extra ``[explore]``).

- ``server``: served on this machine alone; ``app``: widgets and layout.
- ``read``, ``classes``: what it shows, from a run's tables; ``arithmetic``: a value, step by step.
- ``panels``, ``charts``, ``markup``: as sentences, scatter and HTML.
"""
