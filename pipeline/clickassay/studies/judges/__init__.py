"""Judges compared without a log: how far sources of judgments agree, and where they do not."""
