"""The pattern table: rows (configuration, click pattern, sessions), all that the rest needs to know of a log.

- ``table``: the record, and what it must obey; ``identity``: the id of a configuration.
- ``places``: what a path is; ``folder``: written and read back.
- ``script_folder``: what the SQL of `clickassay sql` leaves.
- ``funnel``, ``counts``: where rows went.
- ``store``: a table in batches, which grows.
"""
