"""Judged configurations → correlations of click metrics with offline metrics."""
