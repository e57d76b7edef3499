"""Commands on finished runs: check, compare, query."""
