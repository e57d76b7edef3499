"""Two finished runs compared (`clickassay diff`), and rules that a run must keep (`clickassay check`).

- ``read``: both read back; ``numbers``, ``noise``: their means and correlations, tests of the changes, and
  which of them are findings.
- ``compare``: all changes; ``words``: changes in sentences; ``gate``: rules, read and checked.
- ``report``: the page of a comparison.
"""
