"""Logs from planted user models, with the truth beside them: for tests, trials and teaching."""

from clickassay.simulate.simulation import simulate
from clickassay.simulate.worlds import WORLDS

__all__ = ["WORLDS", "simulate"]
