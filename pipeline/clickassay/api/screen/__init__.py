"""What results show: as text, as the page of a notebook, and while they are computed.

- ``parts``: lines and tables, of which every result is made; ``text`` and ``html`` draw them.
- ``result``: the common ground of results.
- ``python``: options of the command line as keywords.
- ``progress``: the bar, on a terminal or in a notebook.
"""
