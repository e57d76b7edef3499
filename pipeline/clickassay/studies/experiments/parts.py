"""What tests of a log are asked, and the rows that a treatment adds to the tables of tests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clickassay.studies.experiments.effects import Effects

UNEQUAL = "the arms are judged unequally: judge more of the arm that lacks more"

Row = dict[str, Any]

Matched = Mapping[str, tuple[float, float, float]]
"""Differences of users on judged rankings by metric, each with the ends of its interval."""


@dataclass(frozen=True)
class LogOptions:
    """What tests of a log are asked."""

    current: str  # The offline metric in use.
    click_metric: str  # The metric of users that decides, as a run spells it.
    effect_margin: float = 0.01  # Smallest difference of users that matters, a share of control's mean.
    min_users: int = 5  # Arms of fewer users show no numbers.
    ratings: tuple[str, ...] = ()  # Outcomes whose means are over the sessions that have them.
    every_ranking: bool = True  # Whether `arm_patterns` has all rankings, not only those of judged queries.


@dataclass(frozen=True)
class RowsOfTest:
    """The rows that one treatment of a test adds to the tables."""

    rows: list[Row] = field(default_factory=list)
    checks: list[Row] = field(default_factory=list)
    judges: list[Row] = field(default_factory=list)
    preferences: list[Row] = field(default_factory=list)
    to_judge: list[Row] = field(default_factory=list)


def row_of(effects: Effects, at: int) -> Row:
    """Return the columns of one of the differences."""
    named = {"mean_control": effects.control, "mean": effects.treatment, "difference": effects.difference}
    named |= {"ci_low": effects.low, "ci_high": effects.high, "p_value": effects.p}
    named |= {} if effects.error is None else {"error": effects.error}
    return {name: float(values[at]) for name, values in named.items()}
