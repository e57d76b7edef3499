"""Text files of other tools: opened, recognised, their columns and grades named.

- ``lines``: the front door: compression, byte order marks, encodings, pipes, bounds.
- ``header``: names of columns, and which column is which.
- ``layouts``, ``detect``: the layouts that are known; which of them a file is in.
- ``grades``: from ratings as they are written to grades.
"""
