"""Two finished runs beside each other (`clickassay diff`).

- ``read``: both read back; ``numbers``, ``noise``: their correlations, and whether a change is noise.
- ``compare``: all that changed; ``words``: in sentences.
"""
