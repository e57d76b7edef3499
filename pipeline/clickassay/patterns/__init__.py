"""The pattern table, rows (configuration, click pattern, sessions): all that is needed to know of a log."""
