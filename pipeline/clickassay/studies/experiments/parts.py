"""What tests of a log are asked, and the rows that a treatment adds to the tables of tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from clickassay.core.contracts.columns import EVERY
from clickassay.core.settings.of_tests import DeclaredTest
from clickassay.studies.experiments.arms import Judged
from clickassay.studies.experiments.checks import FINDING, cautions_of
from clickassay.studies.experiments.effects import Effects
from clickassay.studies.experiments.verdicts import Compared, Difference, is_unequal, verdict

NO_SUM = "it is no sum over results, so it cannot be split between two rankers"

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


class TestSides(Protocol):
    """The sessions of a treatment and its control: arms, or rankers whose results are mixed."""

    def judged_shares(self, judged: Judged) -> Effects:
        """Return the shares of sessions on judged rankings, matched by query, and their difference."""

    def offline(self, judged: Judged) -> tuple[Sequence[str], Effects]:
        """Return metrics, and ΔE of each."""

    def matched(self, judged: Judged) -> Matched:
        """Return the differences of users on judged rankings."""

    def share_compared(self, judged: Judged) -> float:
        """Return the share of the sessions that ΔE is about."""


class Comparison:
    """A treatment of a test held against its control."""

    def __init__(
        self, key: Row, sides: TestSides, of_users: Mapping[str, Row], click: str, margin: tuple[float, str],
        options: LogOptions,
    ) -> None:  # fmt: skip
        # of_users: rows by metric of users; click: the one that decides; margin: the difference of it that is
        # too small to matter, also in words
        self.key, self.sides, self.of_users, self.click = key, sides, of_users, click
        self.margin, self.options = margin, options

    def part(
        self, base: Row, checks: Sequence[Row], warned: Sequence[str], told: DeclaredTest,
        judges: Mapping[str, Judged],
    ) -> RowsOfTest:  # fmt: skip
        """Return the rows of all metrics and judges.

        base: columns that they have in common; warned: cautions beside those of `checks`.
        """
        failed = [row["remedy"] for row in checks if row["status"] == FINDING]
        has_sessions = base["sessions"] and base["sessions_control"]
        base = self.key | base | {
            "group": told.group or self.key["experiment"],
            "counts": not (failed or told.is_aa or not has_sessions),
            "reason": failed[0] if failed else "an A/A test: shown as calibration" if told.is_aa else None,
            "caution": "; ".join([*cautions_of(checks), *warned]) or None,
        }  # fmt: skip
        part = RowsOfTest(checks=[self.key | row for row in checks])
        for judge, judged in judges.items():
            self.add_judge(part, base | {"judge": judge}, judged)
        if not judges:
            self.add_users(part, base | {"judge": EVERY}, {})
        return part

    def add_users(self, part: RowsOfTest, base: Row, matched: Matched) -> None:
        """Add the rows of the metrics of users."""
        for name in dict.fromkeys([*self.of_users, *matched]):
            own = dict(zip(("matched", "matched_low", "matched_high"), matched.get(name, ()), strict=False))
            part.rows.append(base | {"kind": "click", "metric": name} | self.of_users.get(name, {}) | own)

    def add_judge(self, part: RowsOfTest, base: Row, judged: Judged) -> Effects:
        """Add the rows of all metrics by the grades of one judge; return how much is judged."""
        shares = self.sides.judged_shares(judged)
        unequal = is_unequal(Difference(*shares.three(0)))
        base |= {"judged_share_control": float(shares.control[0]), "judged_share": float(shares.treatment[0])}
        matched = {} if unequal else self.sides.matched(judged)
        names, offline = self.sides.offline(judged)
        unsure = offline.cautions[0] if matched and names else None  # matched clicks are of the same queries
        more = [base["caution"], unsure and f"matched differences: {unsure}"]
        self.add_users(part, base | {"caution": "; ".join(filter(None, more)) or None}, matched)
        for name in judged.metrics:
            row = base | {"kind": "editorial", "metric": name}
            decides = name == self.options.current and base["counts"]
            if name not in names or unequal:
                row["reason"] = base["reason"] or (UNEQUAL if name in names else NO_SUM)
                row["verdict"] = "unequally_judged" if decides and name in names else None
            else:
                at = names.index(name)
                row |= row_of(offline, at)
                row["caution"] = "; ".join(filter(None, [base["caution"], offline.cautions[at]])) or None
                if decides:
                    row["verdict"], row["reason"] = self._verdict(offline, at, matched, judged)
            part.rows.append(row)
        return shares

    def _verdict(self, offline: Effects, at: int, matched: Matched, judged: Judged) -> tuple[str | None, str]:
        users, nan = self.of_users[self.click], float("nan")
        return verdict(Compared(
            Difference(users["difference"], users["ci_low"], users["ci_high"]),
            Difference(*offline.three(at)), Difference(*matched.get(self.click, (nan, nan, nan))),
            *self.margin, self.sides.share_compared(judged), offline.units,
        ))  # fmt: skip
