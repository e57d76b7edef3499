"""The work of a command from start to end; the only package that knows the order of the stages."""
