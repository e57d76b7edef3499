"""Whether a run satisfies its rules: one about a number is broken only if the whole interval breaks it."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.correlation import CORRELATIONS
from clickassay.core.contracts.findings import VERDICT
from clickassay.core.contracts.run import HEALTH_CHECKS, STATISTICS
from clickassay.core.errors import ReportError, SettingsError
from clickassay.core.records import ANY_SAMPLE, SAMPLE_COLUMNS, SampleChoice, SampleKey
from clickassay.core.text.words import plural, visible
from clickassay.correlation.uncertainty.intervals import HEAVY_TAIL, MIN_QUERIES
from clickassay.findings.run import Run, largest_samples, run_at
from clickassay.health.checks import OK, fired
from clickassay.report.tables import caution_reason
from clickassay.studies.runs_compared.gate import quantities
from clickassay.studies.runs_compared.gate.grammar import HEALTH, OF_TEST, Limit, NotWorse, Rule, RunState
from clickassay.studies.runs_compared.numbers import (
    BEYOND,
    FEW_FOLDS,
    NOTHING_WORSE,
    USERS_LEFT_OUT,
    WITHIN,
    DiffOptions,
    check_watch,
    compare_numbers,
)
from clickassay.studies.runs_compared.read import read_for_comparison
from clickassay.studies.runs_compared.words import change_words, clearest


class RuleState(StrEnum):
    """What became of a rule."""

    HOLDS = "holds"
    OPEN = "open"
    BROKEN = "broken"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Outcome:
    """What became of a rule, with the reason."""

    rule: str  # The rule as it was written.
    # HOLDS: kept, with its whole interval. OPEN: the interval has values of both sides, or is too wide to
    # tell, as it comes from few folds of users. BROKEN: the whole interval breaks it. UNDECIDED: there is no
    # value, or no interval.
    state: RuleState
    reason: str  # Why it has its state, in words.
    sample: SampleKey | None = None  # What it is about; None for the health of the log.
    # The number that it is about: of `not worse than` the change that counts most against it.
    found: quantities.RunQuantity = field(default_factory=lambda: quantities.RunQuantity(None))
    # comparison, limit: The sign and the number on its right; None where it has none.
    comparison: str | None = None
    limit: float | None = None
    status: str | None = None  # Of a rule about one: the worst status of health, decision, or verdict.
    # Rows of `numbers.compare_numbers` that break a rule `not worse than`, or leave it undecided or open.
    changes: tuple[Mapping[str, Any], ...] = ()

    def fails(self, *, strict: bool) -> bool:
        """Return whether a job should stop at it: `strict` counts inconclusive rules as failed."""
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


def not_worse(run: Run, rule: NotWorse, key: SampleKey) -> Outcome:
    """Compare a sample of two runs; SettingsError if nothing is compared, as the rule would always hold."""
    if run.folder != Path() and rule.run.resolve() == run.folder.resolve():
        raise SettingsError(f"{rule.run} is the run itself; name another run")
    before = read_for_comparison(rule.run)
    if not key.rows(before.tables[STATISTICS.name])["n_sessions"].sum():
        raise SettingsError(f"{rule.run} has no sessions of {key.label} to compare with; name another run")
    columns = before.tables[CORRELATIONS.name]["editorial_metric"].unique().sort().to_list()
    clicks = {name: found for name in rule.names if (found := quantities.click_metric(name)) is not None}
    metrics = [
        quantities.editorial_metric(name, columns, before.settings, before.called)
        for name in rule.names
        if name not in clicks
    ]
    sample = (key.depth,), (key.market,), (key.judge,)
    options = DiffOptions(tuple(dict.fromkeys(metrics)), tuple(dict.fromkeys(clicks.values())), *sample)
    numbers, _ = compare_numbers((before, read_for_comparison(run)), options)
    check_watch(numbers, NOTHING_WORSE, DiffOptions(), name=f"a comparison with {rule.run}")
    return judged(numbers, rule, key)


def judged(numbers: pl.DataFrame, rule: NotWorse, key: SampleKey) -> Outcome:
    """Return a rule's outcome by rows of `compare_numbers`; open if only too few folds show no fall."""
    told = pl.when(pl.col("p_adjusted") < rule.alpha).then(pl.lit(BEYOND)).otherwise(pl.lit(WITHIN))
    is_tested = pl.col("status").is_in([BEYOND, WITHIN])
    numbers = numbers.with_columns(status=pl.when(is_tested).then(told).otherwise("status"))
    is_large = pl.col("change").is_null() | ~(pl.col("ci_high") > -rule.margin).fill_null(False)
    worse = numbers.filter(NOTHING_WORSE.finding, is_large)
    certain = worse.filter(NOTHING_WORSE.certain)
    compared = plural(numbers.filter(pl.col("a").is_not_null()).height, "number")
    if worse.height:
        state, shown = (RuleState.BROKEN, certain) if certain.height else (RuleState.UNDECIDED, worse)
        by = f" by more than {rule.margin:g}" if rule.margin else ""
        what = f"fell{by} significantly or are gone" if certain.height else "fell and could not be tested"
        first = clearest(shown)
        reason = f"{shown.height:,} of {compared} {what}; the clearest: {_first_words(first)}"
        return Outcome(rule.text, state, reason, key, _found(first), changes=tuple(worse.to_dicts()))
    fell = clearest(numbers.filter(pl.col("change") < 0))
    blind = fell.filter(
        pl.col("caution").str.contains(FEW_FOLDS, literal=True), pl.col("tested_by") == USERS_LEFT_OUT
    )
    if blind.height:
        reason = (
            f"inconclusive: {blind.height:,} of {compared} fell, with intervals that rest on {FEW_FOLDS} "
            "and may be far too wide; make both pattern tables with 16 folds; "
            f"the clearest: {_first_words(blind)}"
        )
        return Outcome(rule.text, RuleState.OPEN, reason, key, _found(blind), changes=tuple(blind.to_dicts()))
    most = "fell" if fell.is_empty() else f"fell significantly; the clearest fall: {_first_words(fell)}"
    return Outcome(rule.text, RuleState.HOLDS, f"none of {compared} {most}", key, _found(fell))


def _first_words(rows: pl.DataFrame) -> str:
    return change_words(rows.row(0, named=True))


def _found(rows: pl.DataFrame) -> quantities.RunQuantity:
    if rows.is_empty():
        return quantities.RunQuantity(None)
    row: Mapping[str, Any] = rows.row(0, named=True)
    return quantities.RunQuantity(row["change"], row["ci_low"], row["ci_high"], row["caution"], row["reason"])


DEFAULT_RULES = ('health != "finding"', f"queries >= {MIN_QUERIES}")
"""Rules where none is given: the log is sound, and intervals can be relied on."""


def check_run(
    place: Run | Path, rules: Sequence[Rule], choice: SampleChoice = ANY_SAMPLE
) -> tuple[Outcome, ...]:
    """Check rules, as `grammar.parse_rules` returns them, against a finished run, or its folder.

    choice: the sample of rules that do not name one; open parts are as in the report's headline.
    Raises ReportError if a folder or table is broken; SettingsError if a rule names what is not there.
    """
    run = run_at(place)
    return tuple(_outcome(run, rule, choice) for rule in rules)


def _outcome(run: Run, rule: Rule, choice: SampleChoice) -> Outcome:
    try:
        if isinstance(rule, RunState):
            return _of_verdict(run, rule, choice) if rule.subject == OF_TEST else _of_run(run, rule)
        return _of_number(run, rule, choice)
    except (SettingsError, ReportError) as error:
        raise type(error)(f"rule {rule.text!r}: {error}") from error


def _of_run(run: Run, rule: RunState) -> Outcome:
    if rule.subject == HEALTH:
        checks = fired(run.tables[HEALTH_CHECKS.name])
        status = checks[0].status if checks else OK
        worst = [one.check for one in checks if one.status == status]
        reason = f"{status}: {', '.join(worst)}" if worst else "all data checks passed"
    else:
        decided = run.tables[VERDICT.name].sort("place").select("decision", "subject").rows()
        status, subject = decided[0] if decided else ("cannot_decide", None)
        reason = f"the decision is {status}" + ("" if subject is None else f" ({visible(subject)})")
    kept = (status == rule.status) == rule.is_equal
    return Outcome(rule.text, RuleState.HOLDS if kept else RuleState.BROKEN, reason, status=status)


def _of_verdict(run: Run, rule: RunState, choice: SampleChoice) -> Outcome:
    """Return the outcome of a rule that the treatments of a test must all keep."""
    rows = quantities.rows_of_test(run, rule.test, rule.judge or choice.judge).filter(kind="editorial")
    known = rows.filter(pl.col("verdict").is_not_null())
    told = known["verdict"].unique().sort().to_list()
    arms = rows.unique(["experiment", "variant", "kind_of_test"]).height
    if any((one == rule.status) != rule.is_equal for one in told):
        state = RuleState.BROKEN
    else:
        state = RuleState.HOLDS if rows.height and known.height == arms else RuleState.UNDECIDED
    lacks = rows.filter(pl.col("reason").is_not_null(), pl.col("verdict").is_null())["reason"]
    reason = "; ".join(f"{one['variant']}: {one['verdict']}, {one['reason']}" for one in known.to_dicts())
    if state == RuleState.UNDECIDED:
        reason = f"no verdict: {lacks[0] if len(lacks) else 'nothing is judged'}"
    return Outcome(rule.text, state, reason, status=", ".join(told) or "none")


def _of_number(run: Run, rule: Limit | NotWorse, choice: SampleChoice) -> Outcome:
    wanted = replace(choice, **{name: part for name, part in vars(rule.place).items() if part is not None})
    rows = wanted.rows(run.tables[STATISTICS.name])
    has_judged = rows.is_empty() or rows["n_sessions"].sum()
    key = run.key(wanted) if has_judged else largest_samples(rows)[0]
    if isinstance(rule, NotWorse):
        return not_worse(run, rule, key)
    together = replace(key, market=EVERY)
    if wanted.market is None and rule.quantity in quantities.WITHIN_QUERIES and together in run.places:
        key = together
    of_tests = rule.quantity in quantities.OF_TESTS
    if of_tests and rule.place != SampleChoice():
        raise SettingsError("tests belong to no sample; remove what follows `for`")
    quantity = quantities.read_quantity(rule.quantity, run, key, rule.names)
    state = limit_state(rule.quantity, quantity, rule.comparison, rule.limit)
    plain = state_of(quantity, rule.comparison, rule.limit)
    reason = _reason(quantity, state, rule) if state == plain else _UNCERTAIN
    return Outcome(rule.text, state, reason, None if of_tests else key, quantity, rule.comparison, rule.limit)


def limit_state(name: str, quantity: quantities.RunQuantity, comparison: str, limit: float) -> RuleState:
    """Return the state of a rule about a quantity: as `state_of`, but for the tails of a correlation.

    Where its sessions are heavy-tailed, it is broken only if an interval that goes `STRETCH` times as far out
    breaks it as well.
    """
    state = state_of(quantity, comparison, limit)
    is_uncertain = name == quantities.CORRELATION and HEAVY_TAIL in (quantity.caution or "")
    if state != RuleState.BROKEN or not is_uncertain:
        return state
    value, low, high = (
        math.nan if end is None else end for end in (quantity.value, quantity.low, quantity.high)
    )
    far = replace(quantity, low=value + STRETCH * (low - value), high=value + STRETCH * (high - value))
    return state_of(far, comparison, limit)


STRETCH = 3.0
"""Where sessions per query are heavy-tailed, the truth may lie so many times as far out as the interval goes:
measured in worlds whose sessions follow a Pareto law."""

_UNCERTAIN = (
    f"the 95% CI breaks the rule, but the truth may lie {STRETCH:g} times as far out: {HEAVY_TAIL}; "
    "a rule on within(METRIC, CLICK METRIC) does not have this problem"
)


def state_of(quantity: quantities.RunQuantity, comparison: str, limit: float) -> RuleState:
    """Return the state of a rule on a number: broken only if its whole interval breaks `limit`."""
    ends = [_KEEPS[comparison](end, limit) for end in quantity.ends]
    if not ends:
        return RuleState.UNDECIDED
    if all(ends):
        return RuleState.HOLDS
    return RuleState.OPEN if any(ends) else RuleState.BROKEN


_KEEPS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType(
    {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
)


def _reason(quantity: quantities.RunQuantity, state: RuleState, rule: Limit) -> str:
    if quantity.value is None:
        return f"no value: {quantity.reason}"
    if not quantity.ends:
        return f"no interval: {caution_reason(quantity.caution) or 'the run has none'}"
    value = f"{quantity.value:.6g}"
    if quantity.is_exact:
        return f"{value} is {'' if state == RuleState.HOLDS else 'not '}{rule.comparison} {rule.limit:g}"
    where = {
        RuleState.HOLDS: "the whole 95% CI satisfies the rule",
        RuleState.BROKEN: "the whole 95% CI breaks the rule",
        RuleState.OPEN: f"the limit {rule.limit:g} lies inside the 95% CI",
    }
    return f"{where[state]} ({quantity.low:.3g} to {quantity.high:.3g})"
