"""Columns of a batch as arrays of numbers."""
