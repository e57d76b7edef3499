"""Past A/B tests: does an offline metric tell better changes from worse? (`clickassay experiments`).

- ``sheet``: the table of tests, read and checked; ``order``: pairs in order, calls, metrics compared.
- ``words``: the answer in sentences; ``report``: tables, pictures and the page.
"""
