"""Two finished runs compared (`clickassay diff`).

- ``read``: both read back; ``numbers``, ``noise``: their correlations, and tests of the changes.
- ``compare``: all changes; ``words``: changes in sentences.
"""
