"""Folders that hold a pattern table: and how to tell them from others."""
