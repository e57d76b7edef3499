"""Engines run the SQL of the big step: DuckDB embedded by default."""
