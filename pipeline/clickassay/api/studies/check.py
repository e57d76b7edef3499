"""From Python: rules that a run must satisfy, the gate of a nightly job."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from clickassay.api.screen.parts import Part, ShownTable
from clickassay.api.screen.result import Result
from clickassay.core.text.words import plural
from clickassay.studies.runs_compared.gate.check import Outcome, RuleState

SCHEMA = 1
"""Number of the form of the JSON document."""

WORDS = {
    RuleState.BROKEN: "broken",
    RuleState.UNDECIDED: "undecided",
    RuleState.OPEN: "inconclusive",
    RuleState.HOLDS: "holds",
}
"""What states are called, the worst first."""

MOST_NAMED = 3
"""Rules of a state that the answer names."""


class CheckResult(Result):
    """Which rules hold, and which are broken.

    Parameters
    ----------
    outcomes
        The outcome of each rule.
    strict
        Whether inconclusive rules count as failed.
    name
        What the run is called.
    """

    def __init__(self, outcomes: tuple[Outcome, ...], *, strict: bool = False, name: str = "") -> None:
        self.outcomes, self.strict, self.name = outcomes, strict, name

    @property
    def passed(self) -> bool:
        """Whether no rule is broken, and none is undecided because its value is missing."""
        return not any(one.fails(strict=self.strict) for one in self.outcomes)

    @property
    def answer(self) -> str:
        """Which rules are broken, or that all hold; without a full stop."""
        found = {state: [one.rule for one in self.outcomes if one.state == state] for state in WORDS}
        every, holding = len(self.outcomes), len(found.pop(RuleState.HOLDS))
        if holding == every:
            return f"All {every} rules hold" if every > 1 else "The rule holds"
        told: list[str] = []
        for state, rules in found.items():
            if rules:
                verb = "is" if len(rules) == 1 else "are"
                more = "" if len(rules) <= MOST_NAMED else f" and {len(rules) - MOST_NAMED} more"
                of = "" if told else f" of {plural(every, 'rule')}"
                named = "; ".join(rules[:MOST_NAMED])
                passes = " (passes unless --strict)" if state == RuleState.OPEN and not self.strict else ""
                told.append(f"{len(rules)}{of} {verb} {WORDS[state]}{passes}: {named}{more}")
        return "; ".join(told)

    @property
    def rules(self) -> pl.DataFrame:
        """A row for each rule: state, reason, sample, value with its interval, limit."""
        rows = [
            {name: part for name, part in one.as_data().items() if name != "changes"} for one in self.outcomes
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The rules."""
        return {"rules": self.rules}

    @property
    def facts(self) -> dict[str, Any]:
        """The content of the JSON document (docs/reference/check.md)."""
        return {
            "schema": SCHEMA, "answer": self.answer, "run": self.name, "passed": self.passed,
            "strict": self.strict, "rules": [one.as_data() for one in self.outcomes],
        }  # fmt: skip

    def parts(self) -> Iterator[Part]:
        """Yield which rules fail, the rules with their numbers, and what needs words."""
        yield f"{self.answer}."
        heads = ("rule", "", "about", "value", "95% CI")
        rows = [
            (one.rule, WORDS[one.state], "" if one.sample is None else one.sample.label, *_numbers(one))
            for one in self.outcomes
        ]
        yield ShownTable(heads, rows, heads[-2:])
        yield from (
            f"{WORDS[one.state].upper()} {one.rule}: {one.reason}" for one in self.outcomes if one.needs_words
        )
        cautions = Counter(one.found.caution for one in self.outcomes if one.found.caution)
        yield from (f"Caution, {plural(number, 'interval')}: {text}" for text, number in cautions.items())


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
