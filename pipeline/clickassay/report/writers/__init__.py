"""Records of a report → text of its files.

- ``page``: HTML; ``markdown``, ``latex``, ``csv``: the other forms.
- ``summary``: the first screen as a few lines.
- ``tables``: a table as HTML; ``numbers``: numbers as text.
"""
