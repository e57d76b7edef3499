"""The files behind an input: found by one walk, opened by one function."""
