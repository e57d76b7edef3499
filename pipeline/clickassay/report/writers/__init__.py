"""Records → files.

- ``page``: HTML; ``markdown``, ``latex``, ``csv``: the other forms.
- ``tables``: a table as HTML; ``numbers``: how numbers are spelled.
"""
