"""Bounds of measures over every way to grade the results that have no grade.

- ``holes``: results without a grade, and lists in which they have one; ``extremes``: the bounds of a measure.
- ``pairs``: Inversions and TauDistance.
"""
