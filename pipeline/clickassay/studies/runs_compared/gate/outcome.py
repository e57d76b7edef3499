"""What became of a rule."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from clickassay.core.records import SAMPLE_COLUMNS, SampleKey
from clickassay.studies.runs_compared.gate.quantities import RunQuantity


class RuleState(StrEnum):
    """What became of a rule."""

    HOLDS = "holds"
    OPEN = "open"
    BROKEN = "broken"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Outcome:
    """What became of a rule."""

    rule: str  # The rule as it was written.
    # HOLDS: kept, with its whole interval. OPEN: the interval has values of both sides, or is too wide to
    # tell, as it comes from few folds of users. BROKEN: the whole interval breaks it. UNDECIDED: there is no
    # value, or no interval.
    state: RuleState
    reason: str  # Why it has its state, in words.
    sample: SampleKey | None = None  # What it is about; None for the health of the log.
    # The number that it is about: of `not worse than` the change that counts most against it.
    found: RunQuantity = field(default_factory=lambda: RunQuantity(None))
    comparison: str | None = None
    # limit, comparison: The number and the sign on its right; None where it has none.
    limit: float | None = None
    status: str | None = None  # The worst status of the checks of health, of a rule about it.
    # Rows of `numbers.compare_numbers` that break a rule `not worse than`, or leave it undecided or open.
    changes: tuple[Mapping[str, Any], ...] = ()

    def fails(self, *, strict: bool) -> bool:
        """Return whether a job should stop at it: `strict` takes open rules for broken ones."""
        return self.state in {RuleState.BROKEN, RuleState.UNDECIDED} or (
            strict and self.state == RuleState.OPEN
        )

    @property
    def needs_words(self) -> bool:
        """Whether numbers alone do not say what became of it."""
        compares_runs = self.comparison is None and self.status is None
        return compares_runs or self.state != RuleState.HOLDS

    def as_data(self) -> dict[str, Any]:
        """Return it as an object for JSON."""
        sample = dict.fromkeys(SAMPLE_COLUMNS) if self.sample is None else self.sample.columns
        return {
            "rule": self.rule, "state": str(self.state), "reason": self.reason, **sample,
            "status": self.status, "value": self.found.value, "ci_low": self.found.low,
            "ci_high": self.found.high, "caution": self.found.caution, "comparison": self.comparison,
            "limit": self.limit, "changes": [dict(row) for row in self.changes],
        }  # fmt: skip
