"""Whether correlations within queries, and decisions, keep their promises in worlds of known truth."""
