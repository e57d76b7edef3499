"""Correlations of click metrics with editorial metrics: weighted, of two virtual rankers, by query class."""
