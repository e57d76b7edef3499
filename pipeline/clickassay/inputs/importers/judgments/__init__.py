"""Judgments of other tools into ``judgments.parquet``.

- ``importer``: from files to grades; ``files``: the layouts that tools write.
- ``scales``: from ratings to grades; ``raters``: several raters of one result.
"""
