"""The page of a comparison of two runs.

- ``figures``, ``sections``: pictures and tables; ``page``: written as HTML and Markdown.
"""
