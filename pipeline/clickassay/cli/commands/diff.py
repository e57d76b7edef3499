"""`clickassay diff`: what changed between two runs, and whether a nightly job has to tell somebody."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from clickassay.cli.console import write_frame
from clickassay.cli.exit import drop_output
from clickassay.cli.options import CSV, JSON
from clickassay.core.errors import SettingsError

if TYPE_CHECKING:
    import polars as pl

    from clickassay.studies.runs_compared.compare import RunDiff

MOST_ROWS = 40
"""Rows of a table that are shown, the largest changes first; CSV and JSON have them all."""

MOST_FINDINGS = 20
"""Findings that are spelled out."""

WIDTH = 160
"""Columns that tables take where nobody says how wide the output is."""

_PLACE = ("market", "depth", "judge")
_WHY_ALONE = "their configurations do not give the correlations that they state, or not without each query"
_FLIPS = (
    *(*_PLACE, "click_metric", "metric_a", "metric_b"),
    *("difference_a", "p_adjusted_a", "difference_b", "p_adjusted_b", "what"),
)

RunFolder = Annotated[Path, typer.Argument(metavar="RUN_A", help="The run before, or to compare with.")]
OtherFolder = Annotated[Path, typer.Argument(metavar="RUN_B", help="The run now.")]


def diff(
    run_a: RunFolder,
    run_b: OtherFolder,
    metric: Annotated[list[str] | None, typer.Option(help="Only this editorial metric; repeatable.")] = None,
    click: Annotated[list[str] | None, typer.Option(help="Only this click metric; repeatable.")] = None,
    depth: Annotated[list[int] | None, typer.Option(help="Only this depth; repeatable.")] = None,
    market: Annotated[list[str] | None, typer.Option(help="Only this market; repeatable.")] = None,
    judge: Annotated[list[str] | None, typer.Option(help="Only this judge; repeatable.")] = None,
    splits: Annotated[bool, typer.Option("--splits", help="Also by classes of queries.")] = False,
    fail_above: Annotated[
        float | None,
        typer.Option(help="Exit code 1 when a correlation changed by more than this, or is gone from B."),
    ] = None,
    beyond_noise: Annotated[
        bool, typer.Option("--beyond-noise", help="With --fail-above: not for changes within noise.")
    ] = False,
    csv: CSV = False,
    json: JSON = False,
) -> None:
    """Tell what changed between two runs, and whether a change is within noise.

    Exit code 1 with --fail-above if something changed by more.

    Examples
    --------
        clickassay diff reports/june reports/july

        clickassay diff reports/june reports/july --metric ERR --click MeanRR --fail-above 0.05 --beyond-noise
    """
    from clickassay.studies.runs_compared.compare import compare_runs
    from clickassay.studies.runs_compared.numbers import Choice, watched
    from clickassay.studies.runs_compared.words import uneven_words

    _check(fail_above, beyond_noise=beyond_noise, csv=csv, json=json)
    choice = Choice(
        metrics=tuple(metric or ()),
        clicks=tuple(click or ()),
        depths=tuple(depth or ()),
        markets=tuple(market or ()),
        judges=tuple(judge or ()),
        splits=splits,
    )
    found = compare_runs(run_a, run_b, choice)
    if fail_above is not None and found.numbers.is_empty():
        raise SettingsError(f"no correlation in {run_a} nor in {run_b}: --fail-above would watch nothing")
    numbers = watched(found.numbers, fail_above, beyond_noise=beyond_noise)
    if csv or json:
        write_frame(numbers, csv=csv)
    else:
        _show(found)
    if fail_above is not None:
        _tell(numbers, fail_above, aside=csv or json)
        if (csv or json) and (uneven := uneven_words(found.sizes)):
            _say(_console(stderr=True), uneven)
    if numbers["finding"].any():
        raise typer.Exit(1)


def _check(fail_above: float | None, *, beyond_noise: bool, csv: bool, json: bool) -> None:
    if fail_above is not None and not 0 < fail_above <= 2:
        raise SettingsError(f"--fail-above {fail_above}: expected a number above 0, at most 2, e.g. 0.05")
    if beyond_noise and fail_above is None:
        raise SettingsError("--beyond-noise is used with --fail-above only; add it, e.g. --fail-above 0.05")
    if csv and json:
        raise SettingsError("give --csv or --json, not both")


def _tell(numbers: "pl.DataFrame", above: float, *, aside: bool) -> None:
    """Say what a watch found: below the tables, or on stderr where stdout is for a program."""
    import polars as pl

    from clickassay.studies.runs_compared.numbers import BEYOND
    from clickassay.studies.runs_compared.read import ONLY_A
    from clickassay.studies.runs_compared.words import alone_words, change_words, not_computed

    console, findings, watched = _console(stderr=aside), numbers.filter("finding"), numbers.height
    if findings.is_empty():
        _say(console, f"No finding: none of {watched:,} numbers is gone or changed by more than {above:g}.")
        return
    _say(console, f"{findings.height:,} of {watched:,} numbers are gone or changed by more than {above:g}:")
    gone = alone_words(numbers, ONLY_A)
    each = findings.filter(~not_computed(ONLY_A)).sort(
        pl.col("status") != BEYOND,
        pl.col("change").abs(),
        descending=[False, True],
        nulls_last=False,
        maintain_order=True,
    )
    told = [change_words(row) for row in each.head(MOST_FINDINGS).iter_rows(named=True)]
    for words in (*([gone] if gone else []), *told):
        _say(console, f"FINDING {words}")
    if each.height > MOST_FINDINGS:
        _say(console, f"and {each.height - MOST_FINDINGS:,} more; --csv gives all")


class _Quiet(Console):
    """A console whose reader may leave: what was found still decides the exit code."""

    def on_broken_pipe(self) -> None:
        """Write no more; Rich would end the command with exit code 1, which means a finding here."""
        self.quiet = True
        drop_output(self.file)


def _console(*, stderr: bool = False) -> Console:
    console = _Quiet(highlight=False, soft_wrap=True, markup=False, emoji=False, stderr=stderr)
    if not console.is_terminal:
        console.width = max(console.width, WIDTH)
    return console


def _say(console: Console, text: str) -> None:
    from clickassay.core.escape import terminal

    console.print(terminal(text))


# ---- tables -----------------------------------------------------------------------------------


def _show(found: "RunDiff") -> None:
    from clickassay.studies.runs_compared.words import headline, uneven_words

    console = _console()
    _say(console, headline(found))
    if uneven := uneven_words(found.sizes):
        _say(console, uneven)
    _say(console, f"A: {found.a}")
    _say(console, f"B: {found.b}")
    _show_entries(console, found)
    _show_sizes(console, found)
    _show_numbers(console, found.numbers)
    _show_order(console, found)


def _show_entries(console: Console, found: "RunDiff") -> None:
    from clickassay.studies.runs_compared.read import SAME

    same = [entry.name for entry in found.entries if entry.status == SAME]
    if same:
        _say(console, f"Inputs that are the same: {', '.join(same)}")
    rows = [(e.kind, e.name, e.status, e.a, e.b) for e in found.entries if e.status != SAME]
    if rows:
        _table(console, "Inputs, settings and versions", ("what", "name", "", "A", "B"), rows)


def _show_sizes(console: Console, found: "RunDiff") -> None:
    from clickassay.core.records import SampleKey

    changed = found.sizes.filter(~found.sizes["a"].eq_missing(found.sizes["b"]))
    if changed.is_empty():
        _say(console, "Queries, configurations, sessions and coverage are the same.")
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
        _table(console, "Coverage and statistics that changed", heads, rows, right=heads[4:])
    for row in found.overlap.iter_rows(named=True):
        parts = [
            f"{row[f'{what}_both']:,} {what} in both (A {row[f'{what}_a']:,}, B {row[f'{what}_b']:,})"
            for what in ("queries", "configurations")
        ]
        _say(console, f"{SampleKey.of(row).label}: {'; '.join(parts)}")


def _size(quantity: str, value: float | None, *, sign: str = "") -> str:
    if value is None:
        return ""
    return f"{value:{sign}.4f}" if quantity == "coverage" else f"{value:{sign},.0f}"


def _show_numbers(console: Console, numbers: "pl.DataFrame") -> None:
    from clickassay.studies.runs_compared.numbers import NO_VALUE
    from clickassay.studies.runs_compared.read import ONLY_A, ONLY_B, SAME
    from clickassay.studies.runs_compared.words import alone_words, not_computed

    for status in (ONLY_A, ONLY_B):
        if (alone := alone_words(numbers, status)) is not None:
            _say(console, alone)
    numbers = numbers.filter(~not_computed(ONLY_A), ~not_computed(ONLY_B))
    titles = {"correlations": "Weighted correlations", "differences": "Closed form of the virtual rankers"}
    for table, title in titles.items():
        every = numbers.filter(table=table)
        rows = every.filter(~every["status"].is_in([SAME, NO_VALUE]))
        if rows.is_empty():
            none = every.filter(every["status"] == NO_VALUE).height
            without = f" ({none:,} have no value in either run)" if none else ""
            _say(console, f"{title}: none of {every.height:,} in both runs changed{without}.")
            continue
        rows = rows.sort(rows["change"].abs(), descending=True, nulls_last=False, maintain_order=True)
        _numbers_table(console, f"{title}: {rows.height:,} of {every.height:,} changed", rows)


def _numbers_table(console: Console, title: str, rows: "pl.DataFrame") -> None:
    from clickassay.studies.runs_compared.numbers import INTERVALS

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
    _table(console, title, (*heads, *numeric, "", "remark"), shown, right=numeric)
    _say_more(console, rows, "; --csv gives all")
    alone = rows.filter(rows["split"] == "all", rows["judged_by"] == INTERVALS)
    if alone.height:
        _say(console, f"{alone.height:,} judged from the intervals of both runs alone: {_WHY_ALONE}")


def _number_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    from clickassay.studies.runs_compared.numbers import INTERVALS

    values = ["" if row[run] is None else f"{row[run]:.4f}" for run in ("a", "b")]
    change = "" if row["change"] is None else _signed(row["change"])
    ends = "" if row["ci_low"] is None else f"{_signed(row['ci_low'])} to {_signed(row['ci_high'])}"
    by = "from intervals" if row["judged_by"] == INTERVALS else None
    remarks = [remark for remark in (by, row["caution"], row["reason"]) if remark]
    p = "" if row["p_adjusted"] is None else f"{row['p_adjusted']:.2g}"
    return *values, change, ends, p, row["status"], "; ".join(remarks)


def _signed(value: float) -> str:
    return f"{value:+.3f}" if value == 0 or abs(value) >= 0.0005 else f"{value:+.0e}"


def _show_order(console: Console, found: "RunDiff") -> None:
    if found.flips.is_empty() and found.best.is_empty():
        _say(console, "No comparison of two metrics flipped, and the best metrics are the same.")
    place = ("market", "depth", "judge", "click")
    if found.best.height:
        best = [(*row[:5], _digits(row[5]), row[6], _digits(row[7])) for row in found.best.iter_rows()]
        heads = (*place, "best in A", "correlation", "best in B", "correlation")
        _table(console, "Click metrics whose best editorial metric changed", heads, best)
    if found.flips.height:
        flips = [
            (*row[:4], f"{row[4]} - {row[5]}", *(_digits(number) for number in row[6:10]), row[10])
            for row in found.flips.select(*_FLIPS).head(MOST_ROWS).iter_rows()
        ]
        columns = (*place, "pair", "A", "p", "B", "p", "")
        _table(console, f"Comparisons that flipped: {found.flips.height:,}", columns, flips)
        _say_more(console, found.flips)


def _say_more(console: Console, rows: "pl.DataFrame", advice: str = "") -> None:
    if rows.height > MOST_ROWS:
        _say(console, f"first {MOST_ROWS} of {rows.height:,} shown{advice}")


def _digits(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _table(
    console: Console,
    title: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: Sequence[str] = (),
) -> None:
    """Show a table; columns that tell nothing, such as the market where there is none, are left out."""
    from clickassay.core.escape import terminal

    texts = [["" if cell is None else terminal(str(cell)) for cell in row] for row in rows]
    kept = [place for place in range(len(heads)) if any(row[place] not in ("", "all") for row in texts)]
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for place in kept:
        table.add_column(heads[place], justify="right" if heads[place] in right else "left")
    for row in texts:
        table.add_row(*(Text(row[place]) for place in kept))
    console.print(table)
