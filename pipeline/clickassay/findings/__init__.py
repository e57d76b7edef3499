"""What a run found, as frozen records; `report` and `studies` turn them into words and pictures.

- ``run``: one record of a run, from its tables or from its folder; ``samples``: the rule of its headline.
- ``arrays``: the judged configurations of a sample as arrays.
"""
