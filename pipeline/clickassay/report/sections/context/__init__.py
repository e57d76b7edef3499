"""Sections on conventions, published numbers and provenance."""
