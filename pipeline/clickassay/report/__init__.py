"""The tables of a run → a page for a decision meeting.

- ``model``, ``cells``: frozen records: what is said, before it is drawn.
- ``findings``, ``caveats``, ``glossary``: sentences and terms.
- ``sections``, ``charts``, ``published``: parts, pictures, other logs' numbers.
- ``build``, ``writers``: files: HTML, Markdown, CSV, LaTeX.
"""
