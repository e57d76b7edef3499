"""Sections on the correlation of metrics with clicks."""
