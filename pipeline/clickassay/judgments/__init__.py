"""Judgments → grades on the lists of the pattern table."""
