"""Two finished runs compared (`clickassay diff`), and rules that a run must keep (`clickassay check`).

- ``read``: both read back; ``numbers``, ``noise``: their means and correlations, and tests of the changes.
- ``compare``: all changes; ``watch``: which are findings; ``words``: changes in sentences.
- ``levels``: the means of one run; ``gate``: rules, read and checked.
- ``report``: the page of a comparison.
"""
