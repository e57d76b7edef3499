"""Values of grades and positions learned from clicks (Chapelle et al. 2009, section 7.1).

- ``gain_map``: the map, and its search; ``agreement``: the objectives; ``validation``: by cross-validation.
- ``on_run``: a map learned from a finished run, as tables.
"""
