"""Metrics: click metrics are functions of a click mask, offline metrics functions of grades."""
