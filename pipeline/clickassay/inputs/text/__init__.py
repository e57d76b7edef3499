"""Text files of other tools: opened, recognised, their columns and grades named.

- ``lines``: the front door: compression, byte order marks, encodings, pipes, bounds.
- ``rows``: rows with named columns, in delimited text and JSON; names of columns.
- ``frames``: judgments and runs as frames of a few columns.
- ``layouts``, ``detect``: the layouts that are known; which of them a file is in.
- ``grades``: from ratings as they are written to grades.
"""
