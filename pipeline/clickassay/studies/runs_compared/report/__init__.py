"""The page of a comparison of two runs.

- ``sections``: tables and pictures; ``page``: written as HTML and Markdown.
"""
