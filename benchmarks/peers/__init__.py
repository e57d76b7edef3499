"""The work of clickassay without it, by scripts that share no code with it."""
