"""Folders that hold a pattern table: this package's, a SQL script's, and how to tell them apart."""
