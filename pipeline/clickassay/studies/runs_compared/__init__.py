"""Two finished runs compared (`clickassay diff`).

- ``read``: both read back; ``numbers``, ``noise``: their means and correlations, and tests of the changes.
- ``compare``: all changes; ``watch``: which are findings; ``words``: changes in sentences.
"""
