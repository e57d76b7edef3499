"""Records of a report → text of its files.

- ``page``: HTML; ``markdown``, ``latex``, ``csv``: the other forms.
- ``tables``: a table as HTML; ``numbers``: numbers as text.
"""
