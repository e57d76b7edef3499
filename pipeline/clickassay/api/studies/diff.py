"""From Python: what changed between two runs, and whether a change is significant."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from clickassay.api.given import Place
from clickassay.api.screen.parts import Part, ShownTable
from clickassay.api.screen.python import for_python
from clickassay.api.screen.result import Result, attribute_of
from clickassay.core.contracts.columns import EVERY
from clickassay.core.files.output import place_to_write
from clickassay.core.records import SampleKey
from clickassay.core.text.words import plural
from clickassay.studies.runs_compared import words
from clickassay.studies.runs_compared.compare import REVERSED, RunComparison
from clickassay.studies.runs_compared.numbers import BEYOND, FAMILIES, INTERVALS, Watch, flag_findings
from clickassay.studies.runs_compared.read import ONLY_A, ONLY_B, SAME
from clickassay.studies.runs_compared.report import build_comparison, check_comparison_place, write_comparison

MOST_FINDINGS = 5
"""Findings that are spelled out."""

MOST_OF_FAMILY, MOST_OTHERS, MOST_NAMED = 2, 5, 3
"""Rows of each family of numbers, rows of each other table, and sentences on the order of metrics: so that
all fits 60 lines. The frames, and the page, have everything."""

_OF_FAMILIES = ("mean", "mean", "within queries", "over all queries", "closed form", "by class")
_SHORT = dict(zip(FAMILIES, _OF_FAMILIES, strict=True))


class DiffResult(Result):
    """The changes between two runs.

    Parameters
    ----------
    comparison
        The comparison.
    watch
        Which changes count as findings; None = no change does.

    Attributes
    ----------
    numbers
        A row for each mean and correlation: a, b, change, ci_low, ci_high, p_adjusted, status, finding.
    """

    def __init__(self, comparison: RunComparison, watch: Watch | None = None) -> None:
        self.comparison, self.watch = comparison, watch
        self.numbers = flag_findings(comparison.numbers, watch)

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Numbers, sizes, pairs of metrics that changed places, and queries and rankings of both runs."""
        own = self.comparison
        return {"numbers": self.numbers, "sizes": own.sizes, "flips": own.flips, "overlap": own.overlap}

    sizes: pl.DataFrame = attribute_of(
        "comparison.sizes", "Coverage and statistics of both runs: a, b, change."
    )

    @property
    def is_finding(self) -> bool:
        """Whether any change is a finding, at which a job should stop."""
        return bool(self.numbers["finding"].any())

    @for_python
    def report(self, place: Place, *, force: bool = False) -> Path:
        """Write a page (FILE.html), or a folder with the page and its tables; return the page.

        Raises
        ------
        OutputError
            If something is there already, or it cannot be written.
        """
        out = place_to_write(place)
        runs = [one for one in (self.comparison.a, self.comparison.b) if one != Path()]
        check_comparison_place(out, runs, force=force)
        return self.write(out, force=force)

    def write(self, out: Path, *, force: bool, command: str = "") -> Path:
        """Write as `report` does; `command` is recorded as what made it."""
        return write_comparison(build_comparison(self.comparison, command), out, force=force)

    def parts(self) -> Iterator[Part]:
        """Yield the decision, what changed in sentences, then inputs, sizes and the clearest changes."""
        yield from self.changes()
        yield from self.findings()

    def changes(self) -> Iterator[Part]:
        """Yield what changed."""
        comparison = self.comparison
        names = comparison.names
        yield words.decision_sentence(comparison)
        yield from words.sentences(comparison)
        yield from filter(None, [words.uneven_words(comparison.sizes, names)])
        yield from words.cautions_words(comparison.numbers)
        folders = zip(names, (comparison.a, comparison.b), strict=True)
        yield from (f"{name}: {own}" for name, own in folders if own != Path() and name != str(own))
        same = [entry.name for entry in comparison.entries if entry.status == SAME]
        if same:
            yield f"Inputs that are the same: {', '.join(same)}"
        rows = [(e.kind, e.name, e.status, e.a, e.b) for e in comparison.entries if e.status != SAME]
        yield from _table(
            "Inputs, settings and versions", ("what", "name", "", *names), rows, most=MOST_OTHERS
        )
        yield from _sizes(comparison)
        yield from _numbers(comparison)
        a, b = comparison.names
        turned = comparison.flips.filter(what=REVERSED)
        for row in turned.head(MOST_NAMED).iter_rows(named=True):
            pair = (row["metric_a"], row["metric_b"])
            up, down = pair if row["difference_a"] > 0 else reversed(pair)
            yield (
                f"{up} is significantly better than {down} in {a}, and significantly worse in {b} "
                f"({row['click_metric']}, {SampleKey.of(row).label})"
            )
        if turned.height > MOST_NAMED:
            yield f"and {turned.height - MOST_NAMED:,} more such pairs"
        once = comparison.flips.height - turned.height
        if not turned.height:
            yield "No pair of metrics swapped places significantly."
        if once:
            what = f"{plural(once, 'comparison')} of two metrics {'is' if once == 1 else 'are'} significant"
            yield f"{what} in one run only, which is not evidence of a change."

    def findings(self) -> Iterator[Part]:
        """Yield which changes are findings, where any change could be one."""
        if self.watch is None:
            return
        numbers, above = self.numbers.filter(self.watch.watched), self.watch.above
        findings, height = numbers.filter("finding"), numbers.filter(pl.col("a").is_not_null()).height
        if findings.is_empty():
            yield f"No finding: none of {height:,} correlations is gone or changed by more than {above:g}."
            return
        yield f"{findings.height:,} of {height:,} correlations are gone or changed by more than {above:g}:"
        gone = words.alone_words(numbers, ONLY_A)
        order = (pl.col("status") != BEYOND, pl.col("change").abs())
        each = findings.filter(~words.not_computed(ONLY_A)).sort(
            *order, descending=[False, True], nulls_last=False, maintain_order=True
        )
        changes = [words.change_words(row) for row in each.head(MOST_FINDINGS).iter_rows(named=True)]
        yield from (f"FINDING {said}" for said in (*([gone] if gone else []), *changes))
        if each.height > MOST_FINDINGS:
            yield f"and {each.height - MOST_FINDINGS:,} more"


def _sizes(comparison: RunComparison) -> Iterator[Part]:
    changed = comparison.sizes.filter(~comparison.sizes["a"].eq_missing(comparison.sizes["b"]))
    if changed.is_empty():
        yield "Queries, configurations, sessions and coverage are the same."
    heads = ("market", "depth", "judge", "quantity", *comparison.names, "change")
    rows = [
        (
            *row[:3],
            row[3].removeprefix("n_").replace("_", " "),
            *(_size(row[3], value) for value in row[4:6]),
            _size(row[3], row[6], sign="+"),
        )
        for row in changed.iter_rows()
    ]
    yield from _table(
        "Coverage and statistics that changed", heads, rows, numbers=heads[4:], most=MOST_OTHERS
    )
    for row in comparison.overlap.sort("queries_both", descending=True).head(1).iter_rows(named=True):
        a, b = comparison.names
        parts = [
            f"{row[f'{what}_both']:,} {what} in both ({a} {row[f'{what}_a']:,}, {b} {row[f'{what}_b']:,})"
            for what in ("queries", "configurations")
        ]
        yield f"{SampleKey.of(row).label}: {'; '.join(parts)}"


def _size(quantity: str, value: float | None, *, sign: str = "") -> str:
    if value is None:
        return ""
    return f"{value:{sign}.4f}" if quantity == "coverage" else f"{value:{sign},.0f}"


def _numbers(comparison: RunComparison) -> Iterator[Part]:
    numbers = comparison.numbers
    alone = [words.alone_words(numbers, status, comparison.names) for status in (ONLY_A, ONLY_B)]
    yield from filter(None, alone)
    known = numbers.filter(~words.not_computed(ONLY_A), ~words.not_computed(ONLY_B))
    moved = known.filter((pl.col("change") != 0) | pl.col("status").is_in([ONLY_A, ONLY_B]))
    rows = pl.concat([words.clearest(moved.filter(family=one)).head(MOST_OF_FAMILY) for one in FAMILIES])
    numeric = (*comparison.names, "change", "95% CI", "p adj.")
    heads = ("", "market", "depth", "judge", "class", "click", "editorial", *numeric, " ")
    cells = []
    for row in rows.iter_rows(named=True):
        of_class = "" if row["split"] == EVERY else f"{row['split']} {row['class']}"
        place = (row["market"], row["depth"], row["judge"], of_class)
        values = ["" if row[run] is None else f"{row[run]:.4f}" for run in ("a", "b")]
        change = "" if row["change"] is None else _signed(row["change"])
        ends = "" if row["ci_low"] is None else f"{_signed(row['ci_low'])} to {_signed(row['ci_high'])}"
        p = "" if row["p_adjusted"] is None else f"{row['p_adjusted']:.2g}"
        by = " (from intervals)" if row["tested_by"] == INTERVALS else ""
        names = (row["click_metric"], row["editorial_metric"])
        said = row["reason"] or f"{words.status_words(row)}{by}"
        cells.append((_SHORT[row["family"]], *place, *names, *values, change, ends, p, said))
    yield from _table("The clearest changes of each kind", heads, cells, numbers=numeric)
    by_intervals = moved.filter(pl.col("split") == EVERY, pl.col("tested_by") == INTERVALS).height
    if by_intervals:
        yield (
            f"{plural(by_intervals, 'change')} tested from the intervals of both runs alone: these "
            "correlations cannot be recomputed from the configurations"
        )


def _signed(value: float) -> str:
    return f"{value:+.3f}" if value == 0 or abs(value) >= 0.0005 else f"{value:+.0e}"


def _table(
    title: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    numbers: Sequence[str] = (),
    most: int | None = None,
) -> Iterator[Part]:
    """Yield a table, if it has rows, without the columns that say nothing, such as a market of no name."""
    every = [tuple(row) for row in rows]
    cells = every[:most]
    if not cells:
        return
    kept = [place for place in range(len(heads)) if any(row[place] not in {None, "", EVERY} for row in cells)]
    yield ShownTable(
        [heads[place] for place in kept],
        [[row[place] for place in kept] for row in cells],
        numbers=numbers,
        title=title if len(cells) == len(every) else f"{title}: {len(cells)} of {len(every):,}",
    )
