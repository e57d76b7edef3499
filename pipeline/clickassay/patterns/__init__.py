"""The pattern table: rows (configuration, click pattern, sessions), all that the rest needs to know of a log.

- ``table``: the record and its checks; ``identity``: the id of a configuration; ``digests``: those of users.
- ``lists``: its lists by number, as a report needs them; ``sums``: sessions counted by packed keys.
- ``results``: their results by number.
- ``memory``: freed memory given back, texts held densely.
- ``places``: what a path is; ``folder``: written and read back.
- ``script_folder``: the folder that the SQL of `clickassay sql` leaves.
- ``funnel``, ``counts``: how many rows left at which step, and why.
- ``health``: counts that show whether a log is sound.
- ``store``: a table in batches, which grows.
"""
