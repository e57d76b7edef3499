"""Judgments of other tools into ``judgments.parquet``.

- ``importer``: from files to grades; ``files``: what each tool writes.
- ``scales``: from ratings to grades; ``raters``: several raters of one result.
"""
