"""What reading files shares.

- ``documents``: TOML and JSON; ``sql``: where ``sql/`` lies.
- ``machine``: errors of the system that are no fault of a file.
"""
