"""Runs compared: two by two, in order, and within classes of queries."""
