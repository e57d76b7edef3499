"""A number of a run with its interval, or the reason why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clickassay.core.text.words import visible


@dataclass(frozen=True)
class Estimate:
    """A number with its 95% CI, or the reason why there is none."""

    # value, low, high: The number and the ends of its interval.
    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None  # Why there is no number; None when there is one.
    caution: str | None = None  # Why there is no interval, or why it is not to be relied on; None when it is.

    @property
    def has_interval(self) -> bool:
        """Whether there are both ends of an interval."""
        return self.low is not None and self.high is not None


def not_computed() -> Estimate:
    """Return the cell of a pair of metrics that a table of the run does not have."""
    return Estimate(None, reason="not computed")


def estimate(
    row: Mapping[str, Any] | None, column: str = "correlation", *, reason: str | None = None
) -> Estimate:
    """Return `column` of a row with interval, caution and why there is none, if need be `reason`."""
    if row is None:
        return not_computed()
    value = row[column]
    if value is None:
        return Estimate(None, reason=visible(reason or row.get("reason") or "no value", limit=160))
    return Estimate(value, row["ci_low"], row["ci_high"], caution=caution_of(row))


def caution_of(row: Mapping[str, Any]) -> str | None:
    """Return why the interval of a row is not to be relied on; None if it is."""
    return None if row.get("caution") is None else visible(row["caution"], limit=160)
