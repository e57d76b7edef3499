"""The pattern table: rows (configuration, click pattern, sessions), all that the rest needs to know of a log."""
