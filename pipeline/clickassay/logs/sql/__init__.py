"""The SQL of the log stage as it is run: steps, translation, batches."""
