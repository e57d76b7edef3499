"""Logs from planted user models, with the truth beside them: for tests, trials and teaching."""

from pipeline.simulate.simulation import simulate
from pipeline.simulate.worlds import WORLDS

__all__ = ["WORLDS", "simulate"]
