"""The tables of a run → a page for a decision meeting."""
