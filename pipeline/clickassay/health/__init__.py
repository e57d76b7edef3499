"""Whether a log and its judgments are sound: checks with thresholds, severities and remedies."""
