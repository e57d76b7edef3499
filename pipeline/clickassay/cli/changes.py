"""Changes between two runs as tables on the screen."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from clickassay.cli.console import say, show_table
from clickassay.core.records import SampleKey
from clickassay.studies.runs_compared.compare import RunComparison
from clickassay.studies.runs_compared.numbers import INTERVALS, NO_VALUE
from clickassay.studies.runs_compared.read import ONLY_A, ONLY_B, SAME
from clickassay.studies.runs_compared.words import (
    alone_words,
    decision_sentence,
    headline,
    not_computed,
    uneven_words,
)

MOST_ROWS = 40
"""Rows of a table that are shown, the largest changes first; CSV and JSON have them all."""

_PLACE = ("market", "depth", "judge")
_WHY_ALONE = "the correlations that they state cannot be computed again from their configurations"
_FLIPS = (
    *(*_PLACE, "click_metric", "metric_a", "metric_b"),
    *("difference_a", "p_adjusted_a", "difference_b", "p_adjusted_b", "what"),
)


def show_changes(comparison: RunComparison) -> None:
    """Show all changes: the decision, sentences, then a table of each kind."""
    say(decision_sentence(comparison))
    say(headline(comparison))
    if uneven := uneven_words(comparison.sizes):
        say(uneven)
    say(f"A: {comparison.a}")
    say(f"B: {comparison.b}")
    _show_entries(comparison)
    _show_sizes(comparison)
    _show_numbers(comparison.numbers)
    _show_order(comparison)


def _show_entries(comparison: RunComparison) -> None:
    same = [entry.name for entry in comparison.entries if entry.status == SAME]
    if same:
        say(f"Inputs that are the same: {', '.join(same)}")
    rows = [(e.kind, e.name, e.status, e.a, e.b) for e in comparison.entries if e.status != SAME]
    if rows:
        _table("Inputs, settings and versions", ("what", "name", "", "A", "B"), rows)


def _show_sizes(comparison: RunComparison) -> None:
    changed = comparison.sizes.filter(~comparison.sizes["a"].eq_missing(comparison.sizes["b"]))
    if changed.is_empty():
        say("Queries, configurations, sessions and coverage are the same.")
    else:
        heads = ("market", "depth", "judge", "quantity", "A", "B", "change")
        rows = [
            (
                *row[:3],
                row[3].removeprefix("n_").replace("_", " "),
                *(_size(row[3], value) for value in row[4:6]),
                _size(row[3], row[6], sign="+"),
            )
            for row in changed.iter_rows()
        ]
        _table("Coverage and statistics that changed", heads, rows, numbers=heads[4:])
    for row in comparison.overlap.iter_rows(named=True):
        parts = [
            f"{row[f'{what}_both']:,} {what} in both (A {row[f'{what}_a']:,}, B {row[f'{what}_b']:,})"
            for what in ("queries", "configurations")
        ]
        say(f"{SampleKey.of(row).label}: {'; '.join(parts)}")


def _size(quantity: str, value: float | None, *, sign: str = "") -> str:
    if value is None:
        return ""
    return f"{value:{sign}.4f}" if quantity == "coverage" else f"{value:{sign},.0f}"


def _show_numbers(numbers: pl.DataFrame) -> None:
    for status in (ONLY_A, ONLY_B):
        if (alone := alone_words(numbers, status)) is not None:
            say(alone)
    numbers = numbers.filter(~not_computed(ONLY_A), ~not_computed(ONLY_B))
    titles = {
        "means of editorial metrics": "Means of editorial metrics over sessions",
        "means of click metrics": "Means of click metrics over sessions",
        "weighted correlations": "Weighted correlations",
        "correlations by class": "Weighted correlations by class",
        "closed forms": "Closed form of the virtual rankers",
    }
    for family, title in titles.items():
        every = numbers.filter(family=family)
        if every.is_empty():
            continue
        rows = every.filter(~every["status"].is_in([SAME, NO_VALUE]))
        if rows.is_empty():
            none = every.filter(every["status"] == NO_VALUE).height
            without = f" ({none:,} have no value in either run)" if none else ""
            say(f"{title}: none of {every.height:,} in both runs changed{without}.")
            continue
        rows = rows.sort(rows["change"].abs(), descending=True, nulls_last=False, maintain_order=True)
        _numbers_table(f"{title}: {rows.height:,} of {every.height:,} changed", rows)


def _numbers_table(title: str, rows: pl.DataFrame) -> None:
    by_class = rows["split"].n_unique() > 1 or rows["split"][0] != "all"
    heads = ("market", "depth", "judge", *(("class",) if by_class else ()), "click", "editorial")
    shown = [
        (
            *(row["market"], row["depth"], row["judge"]),
            *((f"{row['split']} {row['class']}",) if by_class else ()),
            *(row["click_metric"], row["editorial_metric"]),
            *_number_cells(row),
        )
        for row in rows.head(MOST_ROWS).iter_rows(named=True)
    ]
    numeric = ("A", "B", "change", "95 % interval", "p adj.")
    _table(title, (*heads, *numeric, "", "remark"), shown, numbers=numeric)
    _say_more(rows, "; --csv gives all")
    alone = rows.filter(rows["split"] == "all", rows["tested_by"] == INTERVALS)
    if alone.height:
        say(f"{alone.height:,} judged from the intervals of both runs alone: {_WHY_ALONE}")


def _number_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    values = ["" if row[run] is None else f"{row[run]:.4f}" for run in ("a", "b")]
    change = "" if row["change"] is None else _signed(row["change"])
    ends = "" if row["ci_low"] is None else f"{_signed(row['ci_low'])} to {_signed(row['ci_high'])}"
    by = "from intervals" if row["tested_by"] == INTERVALS else None
    remarks = [remark for remark in (by, row["caution"], row["reason"]) if remark]
    p = "" if row["p_adjusted"] is None else f"{row['p_adjusted']:.2g}"
    return *values, change, ends, p, row["status"], "; ".join(remarks)


def _signed(value: float) -> str:
    return f"{value:+.3f}" if value == 0 or abs(value) >= 0.0005 else f"{value:+.0e}"


def _show_order(comparison: RunComparison) -> None:
    if comparison.flips.is_empty() and comparison.highest.is_empty():
        say("No comparison of two metrics flipped, and the same metrics have the highest correlations.")
    place = ("market", "depth", "judge", "click")
    if comparison.highest.height:
        rows = [
            (*row[:5], _digits(row[5]), row[6], _digits(row[7]), "yes" if row[8] else "no")
            for row in comparison.highest.iter_rows()
        ]
        heads = (*place, "highest in A", "correlation", "highest in B", "correlation", "significant")
        title = "Click metrics whose highest correlation is another metric's"
        _table(title, heads, rows, numbers=("correlation",))
    if comparison.flips.height:
        flips = [
            (*row[:4], f"{row[4]} - {row[5]}", *(_digits(number) for number in row[6:10]), row[10])
            for row in comparison.flips.select(*_FLIPS).head(MOST_ROWS).iter_rows()
        ]
        columns = (*place, "pair", "A", "p", "B", "p", "")
        title = f"Comparisons that flipped: {comparison.flips.height:,}"
        _table(title, columns, flips, numbers=("A", "p", "B"))
        _say_more(comparison.flips)


def _say_more(rows: pl.DataFrame, advice: str = "") -> None:
    if rows.height > MOST_ROWS:
        say(f"first {MOST_ROWS} of {rows.height:,} shown{advice}")


def _digits(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: Sequence[str] = ()
) -> None:
    """Show a table without the columns that say nothing, such as the market where there is none."""
    cells = [tuple(row) for row in rows]
    kept = [place for place in range(len(heads)) if any(row[place] not in {None, "", "all"} for row in cells)]
    show_table(
        [heads[place] for place in kept],
        [[row[place] for place in kept] for row in cells],
        numbers=numbers,
        title=title,
    )
