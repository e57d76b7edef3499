"""Findings in words, and as the content of ``summary.json``."""
