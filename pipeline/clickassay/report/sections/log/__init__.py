"""Sections on the log and its judgments."""
