"""Sections on conventions of other tools, published results and provenance."""
