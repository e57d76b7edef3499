"""From Python: rules that a run must keep, the gate of a nightly job."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from clickassay.api.screen.parts import Part, ShownTable
from clickassay.api.screen.result import Result
from clickassay.core.text.words import plural
from clickassay.studies.runs_compared.gate.check import Outcome, RuleState

SCHEMA = 1
"""Number of the form of the JSON document."""

_SHOWN = (
    "rule", "state", "reason", "market", "depth", "judge", "status", "value", "ci_low", "ci_high", "caution",
    "comparison", "limit",
)  # fmt: skip


class CheckResult(Result):
    """What became of rules.

    Parameters
    ----------
    outcomes
        What became of each.
    strict
        Whether open rules count as broken.
    name
        What the run is called.
    """

    def __init__(self, outcomes: tuple[Outcome, ...], *, strict: bool = False, name: str = "") -> None:
        self.outcomes, self.strict, self.name = outcomes, strict, name

    @property
    def passed(self) -> bool:
        """Whether no rule is broken, or undecided for want of a value."""
        return not any(one.fails(strict=self.strict) for one in self.outcomes)

    @property
    def rules(self) -> pl.DataFrame:
        """A row for each rule: state, reason, sample, value with its interval, limit."""
        rows = [{name: one.as_data()[name] for name in _SHOWN} for one in self.outcomes]
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The rules."""
        return {"rules": self.rules}

    @property
    def facts(self) -> dict[str, Any]:
        """The content of the JSON document (docs/reference/check.md)."""
        return {
            "schema": SCHEMA, "run": self.name, "passed": self.passed, "strict": self.strict,
            "rules": [one.as_data() for one in self.outcomes],
        }  # fmt: skip

    def parts(self) -> Iterator[Part]:
        """Yield the rules with their numbers, what needs words, and how many are broken."""
        outcomes = self.outcomes
        heads = ("rule", "", "about", "value", "95% CI")
        rows = [
            (one.rule, str(one.state), "" if one.sample is None else one.sample.label, *_numbers(one))
            for one in outcomes
        ]
        yield ShownTable(heads, rows, heads[-2:])
        yield from (
            f"{str(one.state).upper()} {one.rule}: {one.reason}" for one in outcomes if one.needs_words
        )
        for caution in dict.fromkeys(one.found.caution for one in outcomes if one.found.caution):
            number = sum(one.found.caution == caution for one in outcomes)
            yield f"Caution, {plural(number, 'interval')}: {caution}"
        # for instance "3 rules: 1 broken, 1 open, 1 kept."
        counts = {state: sum(one.state == state for one in outcomes) for state in RuleState}
        order = (RuleState.BROKEN, RuleState.UNDECIDED, RuleState.OPEN, RuleState.HOLDS)
        words = {RuleState.HOLDS: "kept"}
        told = [f"{counts[state]} {words.get(state, state)}" for state in order if counts[state]]
        passes = self.passed and counts[RuleState.OPEN]
        end = " Open rules pass unless --strict." if passes else ""
        yield f"{plural(len(outcomes), 'rule')}: {', '.join(told)}.{end}"


def _numbers(one: Outcome) -> tuple[str, str]:
    quantity = one.found
    if quantity.value is None:
        return one.status or "", ""
    if quantity.is_exact:
        return f"{quantity.value:,.6g}" if quantity.value % 1 else f"{quantity.value:,.0f}", ""
    ends = (
        "" if quantity.low is None or quantity.high is None else f"{quantity.low:.3f} to {quantity.high:.3f}"
    )
    is_change = one.comparison is None
    return f"{'change ' if is_change else ''}{quantity.value:{'+' if is_change else ''}.4f}", ends
