"""Visits, sessions and signals of a batch."""
