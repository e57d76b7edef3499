"""Text for people, and text that came from a log."""
