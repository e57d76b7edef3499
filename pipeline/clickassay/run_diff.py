"""What changed between two finished runs: inputs, settings, versions, sizes, and every correlation.

The first run, A, is what was; the second, B, is what is now; a change is B less A.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from clickassay.contracts import BASELINES, EVERY
from clickassay.report.words import capital, count, listed, plural
from clickassay.run_diff_numbers import (
    BEYOND,
    INTERVALS,
    KEY,
    NO_ROW,
    NO_VALUE,
    PLACE,
    SURE,
    Choice,
    compared,
)
from clickassay.run_diff_reading import (
    INPUT,
    ONLY_A,
    ONLY_B,
    OTHER,
    SAME,
    SETTING,
    VERSION,
    Entry,
    entries,
    read_run,
)

REVERSED, GAINED, LOST = "reversed", "newly significant", "no longer significant"
"""How a comparison of two metrics flipped."""

UNEVEN = 1.1
"""Runs whose sessions per configuration differ by more than this factor are not alike in noise of clicks."""

_SIZES = ("n_queries", "n_configurations", "n_sessions", "n_all_sessions", "coverage")
_KINDS = (INPUT, SETTING, VERSION, OTHER)


@dataclass(frozen=True)
class RunDiff:
    """What differs between two runs.

    Attributes
    ----------
    a, b
        Their folders.
    entries
        All inputs; settings, versions and other records that differ.
    sizes
        One row per market, depth, judge and quantity: a, b, change.
    overlap, numbers
        As `run_diff_numbers.compared` returns them.
    flips
        Pairs of editorial metrics whose order is significant (p_adjusted < 0.05) in one run, and not or the
        other way round in the other: one row per market, depth, judge, click metric and pair.
    best
        Click metrics whose best editorial metric, baselines apart, is another in B.
    """

    a: Path
    b: Path
    entries: tuple[Entry, ...]
    sizes: pl.DataFrame
    overlap: pl.DataFrame
    numbers: pl.DataFrame
    flips: pl.DataFrame
    best: pl.DataFrame


def compare_runs(a: Path, b: Path, choice: Choice | None = None) -> RunDiff:
    """Compare two run folders.

    Raises
    ------
    ReportError
        If one is no run, or a file of it is missing or broken.
    SettingsError
        If something is chosen that neither run has.
    """
    choice, runs = choice or Choice(), (read_run(a), read_run(b))
    choice.check(runs)
    numbers, overlap = compared(runs, choice)
    return RunDiff(
        a=a,
        b=b,
        entries=entries(*runs),
        sizes=_sizes(*(choice.rows(run.tables["statistics"]) for run in runs)),
        overlap=overlap,
        numbers=numbers,
        flips=_flips(*(choice.rows(run.tables["comparisons"]) for run in runs)),
        best=_best(runs[0].tables["correlations"], runs[1].tables["correlations"], choice),
    )


def _sizes(a: pl.DataFrame, b: pl.DataFrame) -> pl.DataFrame:
    long = [
        frame.select(*KEY, pl.col(_SIZES).cast(pl.Float64)).unpivot(index=KEY, variable_name="quantity")
        for frame in (a, b)
    ]
    beside = long[0].join(long[1], on=[*KEY, "quantity"], how="full", suffix="_b", coalesce=True)
    order = pl.col("quantity").replace_strict({name: place for place, name in enumerate(_SIZES)})
    return beside.sort(*KEY, order).select(
        *KEY,
        "quantity",
        pl.col("value").alias("a"),
        pl.col("value_b").alias("b"),
        (pl.col("value_b") - pl.col("value")).alias("change"),
    )


def _flips(a: pl.DataFrame, b: pl.DataFrame) -> pl.DataFrame:
    """Return `RunDiff.flips`."""
    place = (*KEY, "click_metric", "metric_a", "metric_b")
    beside = _ordered(a).join(_ordered(b), on=place, suffix="_b")
    was, now = (_side(suffix) for suffix in ("", "_b"))
    what = (
        pl.when(was * now < 0)
        .then(pl.lit(REVERSED))
        .otherwise(pl.when(was == 0).then(pl.lit(GAINED)).otherwise(pl.lit(LOST)))
    )
    flipped = beside.filter(was != now).with_columns(what=what)
    return flipped.sort(pl.col("what") != REVERSED, *place).select(
        *place,
        pl.col("difference").alias("difference_a"),
        "difference_b",
        pl.col("p_adjusted").alias("p_adjusted_a"),
        "p_adjusted_b",
        "what",
    )


def _ordered(frame: pl.DataFrame) -> pl.DataFrame:
    """Name the pairs in the order of the alphabet: two runs may list their metrics in different orders."""
    turned = pl.col("metric_a") > pl.col("metric_b")
    return frame.select(
        *KEY,
        "click_metric",
        pl.min_horizontal("metric_a", "metric_b"),
        pl.max_horizontal("metric_a", "metric_b").alias("metric_b"),
        pl.when(turned).then(-pl.col("difference")).otherwise("difference").alias("difference"),
        "p_adjusted",
    )


def _side(suffix: str) -> pl.Expr:
    """1 or -1 where the first or second metric is significantly ahead, else 0."""
    sure = (pl.col(f"p_adjusted{suffix}") < SURE).fill_null(False)
    return pl.when(sure).then(pl.col(f"difference{suffix}").sign()).otherwise(0.0).fill_null(0.0)


def _best(a: pl.DataFrame, b: pl.DataFrame, choice: Choice) -> pl.DataFrame:
    """Return `RunDiff.best`; the best of all metrics, whichever are chosen."""
    place = (*KEY, "click_metric")
    beside = _leaders(a).join(_leaders(b), on=place, suffix="_b").sort(place)
    changed = beside.filter(pl.col("editorial_metric") != pl.col("editorial_metric_b"))
    if choice.metrics:
        either = pl.col("editorial_metric", "editorial_metric_b").is_in(choice.metrics)
        changed = changed.filter(pl.any_horizontal(either))
    return (
        replace(choice, metrics=())
        .rows(changed)
        .select(
            *place,
            pl.col("editorial_metric").alias("best_a"),
            pl.col("correlation").alias("correlation_a"),
            pl.col("editorial_metric_b").alias("best_b"),
            pl.col("correlation_b"),
        )
    )


def _leaders(correlations: pl.DataFrame) -> pl.DataFrame:
    """Return the editorial metric of the highest overall correlation with each click metric."""
    kept = correlations.filter(
        pl.col("split") == EVERY,
        pl.col("correlation").is_not_null(),
        ~pl.col("editorial_metric").is_in(BASELINES),
    )
    ordered = kept.sort("correlation", "editorial_metric", descending=[True, False])
    first = ordered.unique([*KEY, "click_metric"], keep="first", maintain_order=True)
    return first.select(*KEY, "click_metric", "editorial_metric", "correlation")


# ---- in words ---------------------------------------------------------------------------------


def headline(diff: RunDiff) -> str:
    """Say in one or two sentences what changed, the largest change first."""
    numbers = diff.numbers.filter(pl.col("status") != NO_VALUE)
    found = [entry for entry in diff.entries if entry.status != SAME]
    moved = numbers.filter(pl.col("change").is_not_null() & (pl.col("change") != 0))
    alone = _alone(numbers)
    things = capital(_things(found)) if found else "No input, setting or version"
    if moved.height:
        return f"{_of_moved(moved, numbers.height)}{alone}. {things} changed."
    if alone:
        return f"{things} changed; {_of_same(numbers)}{alone}."
    start = f"Nothing but {_things(found)}" if found else "Nothing"
    return f"{start} changed; {_of_same(numbers)}."


def uneven_words(sizes: pl.DataFrame) -> str | None:
    """Say where the runs differ in sessions per configuration, which alone moves correlations; None: nowhere.

    Parameters
    ----------
    sizes
        As in `RunDiff`.
    """
    wide = sizes.pivot("quantity", index=KEY, values=["a", "b"])
    if not {"a_n_sessions", "b_n_sessions"} <= {*wide.columns}:
        return None
    per = wide.select(
        *((pl.col(f"{run}_n_sessions") / pl.col(f"{run}_n_configurations")).alias(run) for run in "ab")
    )
    far = per.filter((pl.col("b") / pl.col("a")).log().abs() > np.log(UNEVEN)).sort("b", nulls_last=True)
    if far.is_empty():
        return None
    a, b = far.row(0)
    return (
        f"Sessions per configuration differ, e.g. {a:.3g} in A and {b:.3g} in B: with fewer, chance clicks "
        "lower every correlation, and such a change is beyond noise though no metric changed."
    )


def _of_same(numbers: pl.DataFrame) -> str:
    same = numbers.filter(status=SAME).height
    if not same:
        return "no number is in both runs"
    every = "all " if same == numbers.height and same > 1 else ""
    return f"{every}{plural(same, 'number')} {'is' if same == 1 else 'are'} the same"


def _alone(numbers: pl.DataFrame) -> str:
    """Count the numbers that one run has alone."""
    counts = {run: numbers.filter(status=status).height for run, status in (("A", ONLY_A), ("B", ONLY_B))}
    return "".join(f"; {plural(rows, 'number')} only in {run}" for run, rows in counts.items() if rows)


def _things(found: Sequence[Entry]) -> str:
    """Name what changed; versions are many, and go by one name."""
    by_kind = {kind: [entry.name for entry in found if entry.kind == kind] for kind in _KINDS}
    return listed(
        "versions" if kind == VERSION else f"the {_noun(kind, names)} {listed(names)}"
        for kind, names in by_kind.items()
        if names
    )


def _noun(noun: str, things: Sequence[object]) -> str:
    """Return the noun, in the plural unless there is one thing."""
    return noun if len(things) == 1 else f"{noun}s"


def _of_moved(moved: pl.DataFrame, every: int) -> str:
    beyond = moved.filter(status=BEYOND)
    largest = (beyond if beyond.height else moved).sort(
        pl.col("table"), pl.col("change").abs(), descending=[False, True], maintain_order=True
    )
    first = change_words(largest.row(0, named=True))
    told = f"{count(beyond.height)} of them beyond noise" if beyond.height else "none beyond noise"
    return f"{first}; {count(moved.height)} of {plural(every, 'number')} changed, {told}"


def change_words(row: Mapping[str, Any]) -> str:
    """Say how a number changed, e.g. ``ERR with MeanRR (depth 5) fell by 0.031 [0.01, 0.05], beyond noise``.

    Parameters
    ----------
    row
        A row of `RunDiff.numbers` whose value changed, or that is only in A.
    """
    if row["status"] == ONLY_A:
        return f"{place_words(row)} has no value in B ({row['reason']})"
    side = 1 if row["change"] > 0 else -1
    ends = sorted(side * end for end in (row["ci_low"], row["ci_high"]) if end is not None)
    span = f" [{ends[0]:.3g}, {ends[1]:.3g}]" if len(ends) == 2 else ""
    rose = "rose" if side > 0 else "fell"
    p = "" if row["p_adjusted"] is None else f" (adjusted p {row['p_adjusted']:.2g})"
    alone = ", judged from intervals alone" if row["judged_by"] == INTERVALS else ""
    return f"{place_words(row)} {rose} by {abs(row['change']):.3g}{span}, {row['status']}{p}{alone}"


def place_words(row: Mapping[str, Any]) -> str:
    """Say what a number is of; a market, judge or class that is ``all`` is left out."""
    closed = ["closed form"] if row["table"] == "differences" else []
    of_class = [f"{row['split']} {row['class']}"] if row["split"] != EVERY else []
    where = ", ".join([*closed, *(f"{name} {row[name]}" for name in KEY if row[name] != EVERY), *of_class])
    return f"{row['editorial_metric']} with {row['click_metric']} ({where})"


def alone_words(numbers: pl.DataFrame, status: str) -> str | None:
    """Say what only one run computed, e.g. ``6 numbers only in A: depth 10``; None if there is nothing.

    Parameters
    ----------
    numbers
        Rows of `RunDiff.numbers`.
    status
        `ONLY_A` or `ONLY_B`.
    """
    rows = numbers.filter(not_computed(status))
    others = numbers.filter(~not_computed(status))
    if rows.is_empty():
        return None
    parts = []
    for name in PLACE[1:]:  # every column that a table has
        values = [value for value in rows[name].unique().sort() if value not in others[name]]
        if values and (others.height or rows[name].n_unique() == 1):
            parts.append(f"{name.replace('_', ' ')} {listed(str(value) for value in values)}")
    parts = [part for part in parts if not part.endswith(f" {EVERY}")]
    what = f": {'; '.join(parts)}" if parts else ""
    return f"{plural(rows.height, 'number')} {status}{what}"


def not_computed(status: str) -> pl.Expr:
    """Tell which rows of `RunDiff.numbers` the other run does not have at all."""
    return (pl.col("status") == status) & pl.col("reason").eq_missing(NO_ROW)
