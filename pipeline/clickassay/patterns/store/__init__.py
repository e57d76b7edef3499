"""A pattern table in batches, each published whole.

- ``store``: the store; ``batches``: its batches, ``records``: what they record;
  ``known_files``: the files it was made of;
  ``files``: how its own files are written, locked and checked.
"""
