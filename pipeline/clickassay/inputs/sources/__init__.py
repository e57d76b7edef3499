"""The files behind an input: found by one walk, opened by one function.

- ``walk``: the files behind a path, and what is left out.
- ``lakes``: folders that are tables of a lake, which are refused.
- ``partitions``: columns that names of folders spell out.
- ``parts``: the files of an input by format and schema, as lazy frames.
- ``fingerprint``: the identity of a file and of an input.
- ``values``: values that types alone do not vouch for.
- ``unread``: values of text files that could not be read.
"""
