"""The tables of a run → a page for a decision meeting.

- ``tables``: a shown table as data; ``model``: figures and sections, before they are drawn.
- ``verdict``: the headline and the main findings, as data and as sentences.
- ``glossary``: terms.
- ``sections``, ``charts``: parts of the page, pictures.
- ``build``, ``writers``: the files: HTML, Markdown, CSV, LaTeX.
"""
