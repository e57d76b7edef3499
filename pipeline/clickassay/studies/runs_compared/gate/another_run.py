"""A rule that nothing fell significantly since another run: comparison and watch are those of `diff`."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from clickassay.core.contracts.correlation import CORRELATIONS
from clickassay.core.contracts.run import STATISTICS
from clickassay.core.errors import SettingsError
from clickassay.core.records import SampleKey
from clickassay.core.text import plural
from clickassay.findings.run import Run
from clickassay.studies.runs_compared.gate.grammar import NotWorse
from clickassay.studies.runs_compared.gate.names import parted
from clickassay.studies.runs_compared.gate.outcome import Outcome, RuleState
from clickassay.studies.runs_compared.gate.quantities import RunQuantity
from clickassay.studies.runs_compared.numbers import (
    FEW_FOLDS,
    USERS_LEFT_OUT,
    DiffOptions,
    compare_numbers,
)
from clickassay.studies.runs_compared.read import read_for_comparison
from clickassay.studies.runs_compared.watch import NOTHING_WORSE, check_watch
from clickassay.studies.runs_compared.words import change_words, clearest


def not_worse(run: Run, rule: NotWorse, key: SampleKey) -> Outcome:
    """Compare one sample of a run with that of another run.

    Raises
    ------
    SettingsError
        If the other run is the same, or has nothing of what is compared: the rule would hold whatever
        happens.
    ReportError
        If it is no run.
    """
    if rule.run.resolve() == run.folder.resolve():
        raise SettingsError(f"{rule.run} is the run itself; name another run")
    before = read_for_comparison(rule.run)
    numbers, _ = compare_numbers((before, read_for_comparison(run.folder)), _options(before, rule, key))
    check_watch(numbers, NOTHING_WORSE, DiffOptions(), name=f"a comparison with {rule.run}")
    return judged(numbers, rule, key)


def judged(numbers: pl.DataFrame, rule: NotWorse, key: SampleKey) -> Outcome:
    """Return the outcome of a rule, given the rows of `compare_numbers`."""
    worse = numbers.filter(NOTHING_WORSE.finding)
    certain = worse.filter(NOTHING_WORSE.certain)
    compared = plural(numbers.filter(pl.col("a").is_not_null()).height, "number")
    if worse.is_empty():
        return _kept(numbers, rule, key, compared)
    state, shown = (RuleState.BROKEN, certain) if certain.height else (RuleState.UNDECIDED, worse)
    what = "fell beyond noise or are gone" if certain.height else "fell and could not be tested"
    first = clearest(shown)
    reason = f"{shown.height:,} of {compared} {what}; the clearest: {_first_words(first)}"
    return Outcome(rule.text, state, reason, key, _found(first), changes=tuple(worse.to_dicts()))


def _kept(numbers: pl.DataFrame, rule: NotWorse, key: SampleKey, compared: str) -> Outcome:
    """Return the outcome where nothing fell beyond noise: open where too few folds of users may be why."""
    fell = clearest(numbers.filter(pl.col("change") < 0))
    blind = fell.filter(
        pl.col("caution").str.contains(FEW_FOLDS, literal=True), pl.col("tested_by") == USERS_LEFT_OUT
    )
    if blind.height:
        reason = (
            f"not decided: {blind.height:,} of {compared} fell within an interval that rests on {FEW_FOLDS}, "
            "and may be far too wide; make both pattern tables with 16 folds; "
            f"the clearest: {_first_words(blind)}"
        )
        return Outcome(rule.text, RuleState.OPEN, reason, key, _found(blind), changes=tuple(blind.to_dicts()))
    most = "" if fell.is_empty() else f" beyond noise; the clearest fall: {_first_words(fell)}"
    return Outcome(rule.text, RuleState.HOLDS, f"none of {compared} fell{most}", key, _found(fell))


def _options(before: Run, rule: NotWorse, key: SampleKey) -> DiffOptions:
    if not key.rows(before.tables[STATISTICS.name])["n_sessions"].sum():
        raise SettingsError(f"{rule.run} has nothing of {key.label} to compare with; name another run")
    columns = before.tables[CORRELATIONS.name]["editorial_metric"].unique().sort().to_list()
    metrics, clicks = parted(rule.names, columns, before.settings, before.folder)
    return DiffOptions(metrics, clicks, (key.depth,), (key.market,), (key.judge,))


def _first_words(rows: pl.DataFrame) -> str:
    return change_words(rows.row(0, named=True))


def _found(rows: pl.DataFrame) -> RunQuantity:
    """Return the first change as a number with its interval."""
    if rows.is_empty():
        return RunQuantity(None)
    row: Mapping[str, Any] = rows.row(0, named=True)
    return RunQuantity(row["change"], row["ci_low"], row["ci_high"], row["caution"], row["reason"])
