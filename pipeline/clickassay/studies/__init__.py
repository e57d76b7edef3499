"""Analyses of a finished run, or without a run; each study is independent of the others."""
