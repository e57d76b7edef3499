"""Values of grades and positions learned from clicks (Chapelle et al. 2009, section 7.1).

- ``gain_map``: the map; ``agreement``: what it climbs; ``validation``: what it is worth.
- ``on_run``: learned from a finished run.
"""
