"""Canonical columns and their types."""
