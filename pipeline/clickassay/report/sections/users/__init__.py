"""Sections on how users read results."""
