"""Correlations within queries: their groups, what periods and users explain, and what users add to errors."""
