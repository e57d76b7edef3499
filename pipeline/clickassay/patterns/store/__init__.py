"""A pattern table in batches, each published whole.

- ``store``: the store; ``batches``: its batches; ``ids``: its search ids;
  ``files``: how files are written, locked and checked.
"""
