"""What a run found, as frozen records; `report` and `studies` turn them into words and pictures.

- ``samples``: which market, depth and judge is the headline.
"""
