"""`clickassay explore`: a local page for the engineer behind a report.

- ``server``: served on this machine alone; ``page`` (and its template): what is shown of a run.
- ``arithmetic``: a metric's value, step by step.
"""
