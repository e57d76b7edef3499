"""Sections on how metrics correlate with clicks."""
