"""Judgments of other tools into ``judgments.parquet``.

- ``importer``: from files to grades; ``files``: the layouts that tools write.
- ``rating``: one rating, and how files are read.
- ``tables``, ``documents``: readers of tables, and of one JSON document.
- ``raters``: several raters of one result.
"""
