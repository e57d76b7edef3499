"""Modules of benchmarks/calibration.py: whether the statistics keep their promises."""
