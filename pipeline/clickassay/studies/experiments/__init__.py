"""Past A/B tests: does an offline metric tell better changes from worse? (`clickassay experiments`).

- ``sheet``: the table of tests, read and checked; ``order``: pairs in order, calls, metrics compared.
- ``log``: the tests of a log, from the sessions of their ``arms``: ``checks``, ``effects`` and ``verdicts``;
  ``of_run``, ``shown``: what a run says of them, and how its page shows it.
- ``words``: the answer in sentences; ``report``: tables, pictures and the page.
"""
