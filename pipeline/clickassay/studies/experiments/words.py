"""What past tests say of offline metrics, in sentences."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from clickassay.core.errors import SettingsError
from clickassay.core.text.words import did_you_mean, listed, number, plural, visible
from clickassay.studies.experiments.order import (
    CHANGED,
    FEWEST_GROUPS,
    NEAR_COIN,
    detectable,
    experiment_order,
    groups_needed,
)
from clickassay.studies.experiments.sheet import Sheet

Row = Mapping[str, Any]

MOST_NAMED = 5
"""Metrics, columns or tests of a sentence."""

FEW_TESTS = 50
"""With fewer groups differences between metrics are rarely found."""


@dataclass(frozen=True)
class Experiments:
    """Past tests, and what metrics say of them."""

    sheet: Sheet
    order: pl.DataFrame  # In the form of `contracts.experiments.EXPERIMENT_ORDER`.
    current: str  # The metric that others are compared with.
    margin: float  # Difference of shares of pairs in order that is too small to matter.

    @property
    def row(self) -> Row:
        """What the current metric says."""
        return self.order.filter(editorial_metric=self.current).row(0, named=True)

    @property
    def others(self) -> pl.DataFrame:
        """The rows of the other metrics, without the baseline, the best first."""
        kept = ~pl.col("editorial_metric").is_in([self.current, CHANGED])
        return self.order.filter(kept).sort("in_order", descending=True, nulls_last=True, maintain_order=True)


def compared(sheet: Sheet, current: str | None, margin: float) -> Experiments:
    """Compare the metrics of a sheet with the current one, or with its first.

    Raises SettingsError if the sheet has no such metric.
    """
    metrics = sheet.tests.metrics
    name = current or metrics[0]
    if name not in metrics:
        raise SettingsError(f"--current {name}: no such metric; {did_you_mean(name, metrics)}")
    return Experiments(sheet, experiment_order(sheet.tests, name, margin), name, margin)


def answer(found: Experiments) -> str:
    """Return whether the current metric tells better tests from worse; without a full stop."""
    row, name = found.row, visible(found.current)
    if row["reason"] is not None and row["kind"] != "too_few":
        return f"{name} cannot order these tests: {row['reason']}"
    barely = " barely" if row["in_order"] is not None and row["ci_high"] < NEAR_COIN else ""
    return {
        "follows": f"{name}{barely} tells better tests from worse",
        "opposes": f"{name} prefers the worse of two tests",
        "chance": f"{name} orders these tests hardly better than a coin",
        "cannot_tell": f"Inconclusive: does {name} tell better tests from worse?",
        "too_few": f"Too few tests to know whether {name} tells better from worse",
    }[row["kind"]]


def sentences(found: Experiments) -> Iterator[str]:
    """Yield what the tests show: pairs in order, calls, other metrics, cautions, and the next step."""
    yield from filter(
        None, [in_order_sentence(found), moved_sentence(found), calls_sentence(found), others_sentence(found)]
    )
    yield from cautions(found)
    yield next_step(found)


def in_order_sentence(found: Experiments) -> str:
    """Say how often the metric prefers the better of two tests; empty without such a share."""
    row = found.row
    if row["in_order"] is None:
        return ""
    units = "" if row["groups"] == row["tests"] else f", intervals by {plural(row['groups'], 'group')}"
    return (
        f"Of two tests, {visible(found.current)} prefers the one that did better in "
        f"{_share_with_interval(row)}; a coin gets 50% ({plural(row['tests'], 'test')}{units})."
    )


def moved_sentence(found: Experiments) -> str:
    """Say how many tests changed what users did."""
    tests = found.sheet.tests
    known = len(tests.names) - found.sheet.without_error
    if not known:
        return "No test has a usable error or p-value: which of them changed what users did is unknown."
    return (
        f"{int(tests.moved.sum())} of {plural(known, 'test')} significantly changed what users did "
        "(Benjamini-Hochberg, 5%). Tests of smaller effects are missed more often."
    )


def calls_sentence(found: Experiments) -> str:
    """Say what the metric had called the tests that moved users, beside "always better"."""
    row, name = found.row, visible(found.current)
    if not row["moved"]:
        return ""
    is_whole = row["moved"] == found.sheet.tests.moved.sum()
    known = f"these {row['moved']}" if is_whole else f"the {row['moved']} with a value of {name}"
    better, worse = (row[f"{call}_right"] + row[f"{call}_wrong"] for call in ("better", "worse"))
    right = row["better_right"] + row["worse_right"]
    if row["moved"] == 1:
        called = "better" if better else "worse" if worse else "neither better nor worse"
        which = "this test" if is_whole else f"the one with a value of {name}"
        return f"{name} called {which} {called}; it was {'better' if row['always_better'] else 'worse'}."
    if better == row["moved"]:
        return (
            f"Of {known}, {name} called all better, and {_were(row['better_right'])}: always saying "
            "“better” gets as many. Its warnings were never tested."
        )
    always = f"always saying “better” {row['always_better']}"
    uncalled = row["moved"] - better - worse
    also = f", {uncalled} neither" if uncalled else ""
    beside = [
        f"{visible(one['editorial_metric'])} {one['better_right'] + one['worse_right']}"
        for one in found.others.filter(pl.col("moved") == row["moved"]).head(MOST_NAMED).to_dicts()
    ]
    return (
        f"Of {known}, {name} called {better} better ({_were(row['better_right'])}) and "
        f"{worse} worse ({_were(row['worse_right'])}){also}: {right} right. "
        f"For comparison: {', '.join([*beside, always])}."
    )


def others_sentence(found: Experiments) -> str:
    """Say which metrics order tests better or worse than the current one, which alike, which unknown."""
    compared, name = found.others.filter(pl.col("against").is_not_null()), visible(found.current)
    if compared.is_empty():
        return ""
    said = []
    for row in compared.filter(pl.col("against").is_in(["better", "worse"])).head(MOST_NAMED).to_dicts():
        points, low, high = (
            number(100 * row[one], 0) for one in ("against_current", "against_low", "against_high")
        )
        said.append(
            f"{visible(row['editorial_metric'])} orders tests significantly {row['against']} than {name}: "
            f"{points} points (95% CI {low} to {high})."
        )
    alike = compared.filter(against="equivalent")["editorial_metric"].to_list()
    if alike:
        said.append(f"Within {100 * found.margin:g} points of {name}: {_named(alike)}.")
    unknown = compared.filter(against="inconclusive")["editorial_metric"].to_list()
    if unknown:
        few = "; with fewer than 50 that is usual" if found.row["groups"] < FEW_TESTS else ""
        said.append(f"These tests cannot tell {_named(unknown)} from {name}{few}.")
    return " ".join(said)


def cautions(found: Experiments) -> Iterator[str]:
    """Yield what was left out, and why the answer may mean less than it seems."""
    row, sheet = found.row, found.sheet
    if row["caution"]:
        (baseline,) = found.order.filter(editorial_metric=CHANGED).to_dicts()
        yield (
            f"Caution: the share of rankings that changed orders tests as well "
            f"({_share_with_interval(baseline)}), so {visible(found.current)} may measure boldness alone."
        )
    if sheet.without_error and sheet.without_error < len(sheet.tests.names):
        yield (
            f"{plural(sheet.without_error, 'test')} without a usable error: only the order of tests includes "
            f"{'it' if sheet.without_error == 1 else 'them'}."
        )
    if sheet.click and sheet.errors_from:
        yield (
            f"Caution: runs have differences of {visible(sheet.click)} as they are, not in per cent of "
            "control; check that the sheet has them too."
        )
    if sheet.left_out:
        yield f"Excluded, without a difference of users: {_named(sheet.left_out)}."
    if row["left_out"]:
        yield f"{plural(row['left_out'], 'test')} without a value of {visible(found.current)} excluded."


def next_step(found: Experiments) -> str:
    """Return what to do now."""
    row, name = found.row, visible(found.current)
    groups, kind = row["groups"], row["kind"]
    if kind == "too_few":
        step = (
            f"add {plural(FEWEST_GROUPS - groups, 'more test')} of other ideas: the order of tests needs "
            f"{FEWEST_GROUPS} groups, and there {'is' if groups == 1 else 'are'} {groups}."
        )
    elif row["reason"] is not None:
        step = f"correct the column {name}, or choose another metric with `--current`."
    elif kind == "opposes":
        step = f"check that every column is treatment minus control; if so, do not choose by {name}."
    elif kind == "chance":
        command = f"`clickassay run --current {shlex.quote(name)}`"
        step = f"find a metric that predicts clicks in your log: {command}."
    elif kind == "cannot_tell":
        needed = groups_needed(max(row["in_order"], 1 - row["in_order"]))
        enough = "more than 1,000" if needed is None else f"about {needed}"
        more = f"; the share seen here takes {enough}" if needed is None or needed > groups else ""
        step = (
            f"add earlier tests. {groups} groups of tests detect {_percent(detectable(groups))} or more "
            f"(power 80%){more}."
        )
    elif row["caution"] or row["worse_right"] + row["worse_wrong"] == 0:
        step = f"test a change that {name} dislikes, so that its warnings are tested too."
    else:
        step = f"choose by {name} what to test, and keep testing: it does not say how much users gain."
    return f"Next: {step}"


def read_sentence(found: Experiments) -> str:
    """Say which columns were read as what, and which were not."""
    sheet = found.sheet
    columns = f"column{'s' if ' ' in sheet.errors_from else ''} {sheet.errors_from}"
    errors = f"errors from {columns}" if sheet.errors_from else "" if sheet.click else "no errors"
    of_runs = f"runs: differences of {visible(sheet.click)}, errors by groups of users" if sheet.click else ""
    errors = "; ".join(filter(None, [errors, of_runs]))
    ignored = (
        f"; ignored columns: {_named(one or '(no name)' for one in sheet.ignored)}" if sheet.ignored else ""
    )
    return f"Offline metrics: {_named(sheet.tests.metrics)}; {errors}{ignored}."


def _share_with_interval(row: Row) -> str:
    low, high = 100 * row["ci_low"], 100 * row["ci_high"]
    decimals = 1 if 50 in (round(low), round(high)) else 0  # on which side of a coin it ends
    ends = f"{number(low, decimals)} to {number(high, decimals)}"
    return f"{_percent(row['in_order'])} of pairs (95% CI {ends})"


def _were(amount: int) -> str:
    return f"{amount} {'was' if amount == 1 else 'were'}"


def _percent(share: float) -> str:
    return f"{number(100 * share, 0)}%"


def _named(names: Any) -> str:  # noqa: ANN401 - texts in a row
    every = list(map(visible, names))
    more = len(every) - MOST_NAMED
    return listed(every) if more <= 1 else listed([*every[:MOST_NAMED], f"{more} more"])
