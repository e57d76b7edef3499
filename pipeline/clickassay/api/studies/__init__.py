"""Functions on finished runs: audit, check, diff, learn, power; and on rankings without clicks: evaluate."""
