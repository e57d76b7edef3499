"""Metrics: click metrics as functions of a click mask, editorial metrics as functions of grades."""
