"""Runs on real logs that are published, and a page whose every statement is checked against them."""
