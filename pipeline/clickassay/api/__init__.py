"""Functions for Python, which the package itself offers by their names."""
