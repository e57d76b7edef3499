"""The report of an evaluation.

- ``sections``: tables and pictures; ``page``: written as HTML, Markdown, CSV and LaTeX.
"""
