"""Sections on conventions of other tools and provenance."""
