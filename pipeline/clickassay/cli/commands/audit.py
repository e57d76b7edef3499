"""`clickassay audit`: the same metric under the conventions of many tools, on a run or on one list."""

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from clickassay.cli.console import command_line, say, show, write_frame
from clickassay.cli.options import CSV, FORCE, JSON, QUIET
from clickassay.cli.progress import shown_progress
from clickassay.core.errors import SettingsError

if TYPE_CHECKING:
    import polars as pl

    from clickassay.core.progress import Progress
    from clickassay.core.records import SampleChoice
    from clickassay.studies.audit.on_run import Audit

Row = dict[str, Any]

WITHIN_NOISE = "reversed, within noise"
"""What `studies.audit.compare.change` says of an order that was never sure."""


def audit(
    run_folder: Annotated[Path | None, typer.Argument(metavar="RUN", help="A run folder.")] = None,
    judgments: Annotated[
        str | None,
        typer.Option(help="The judgments of the run: some conventions ask for results that no list shows."),
    ] = None,
    click: Annotated[str, typer.Option(help="The click metric to correlate with.")] = "MeanRR",
    market: Annotated[str | None, typer.Option(help="[default: that with most sessions]")] = None,
    depth: Annotated[
        int | None, typer.Option(help="[default: the smallest; of one list: its length]")
    ] = None,
    judge: Annotated[str | None, typer.Option(help="[default: the first]")] = None,
    grades: Annotated[
        str | None,
        typer.Option(help="In place of RUN: the grades of one list, best result first, - for none."),
    ] = None,
    others: Annotated[
        str, typer.Option(help="With --grades: grades of the judged results that the list does not show.")
    ] = "",
    max_grade: Annotated[int, typer.Option(min=1, max=30, help="With --grades: top of the scale.")] = 4,
    relevant_grade: Annotated[
        int, typer.Option(min=1, max=30, help="With --grades: lowest grade that is relevant.")
    ] = 3,
    persistence: Annotated[float, typer.Option(help="With --grades: p of RBP.")] = 0.8,
    value: Annotated[
        str | None, typer.Option(help="Show only what gives this value, to the digits given.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for tables; appears whole or not at all.")] = None,
    force: FORCE = False,
    csv: CSV = False,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Tell why tools report other numbers for one metric, and whether that changes a conclusion.

    Examples
    --------
        clickassay audit reports/june --judgments grades.csv

        clickassay audit reports/june --judgments grades.csv --click UCTR --depth 10 --out june-audit

        clickassay audit --grades 3,-,4,0,1 --others 4,3,2,2,1,0 --value 0.46
    """
    if csv and json:
        raise SettingsError("give --csv or --json, not both")
    if (run_folder is None) == (grades is None):
        raise SettingsError("give a run folder, or the grades of one list by --grades")
    if run_folder is None and out is not None:
        raise SettingsError("--out is for a run; of one list, keep what --csv prints")
    if run_folder is None:
        table = _of_list(grades or "", others, (depth, max_grade, relevant_grade, persistence))
        rows = _with_value(table, "value", value)
        write_frame(rows, csv=csv) if csv or json else _show_list(rows)
        return
    from clickassay.core.records import SampleChoice

    with shown_progress(quiet=quiet) as progress:
        wanted = SampleChoice(market, depth, judge)
        found = _of_run(run_folder, (judgments, click, wanted), out, progress, force=force)
    rows = _with_value(found.audited.filter(click_metric=click), "mean", value)
    if csv or json:
        write_frame(rows, csv=csv)
        return
    _show_run(run_folder, found, rows, click)
    _say_left_out(found.audited.filter(click_metric=click))
    _say_changed(found.changed.filter(click_metric=click).join(rows, on="convention", how="semi"))
    if out is not None:
        say(f"Tables: {out}")


def _of_list(grades: str, others: str, scale: tuple[int | None, int, int, float]) -> "pl.DataFrame":
    from clickassay.studies.audit.one_list import audited_list, one_list, read_grades
    from clickassay.studies.audit.tool_formulas import Reading

    depth, top, relevant, persistence = scale
    if relevant > top:
        raise SettingsError(f"--relevant-grade {relevant} is above --max-grade {top}")
    if not 0 < persistence < 1:
        raise SettingsError(f"--persistence {persistence}: expected a number between 0 and 1, e.g. 0.8")
    shown = read_grades("--grades", grades)
    rest = [grade for grade in read_grades("--others", others) if grade is not None]
    reading = Reading(depth or max(1, len(shown)), top, relevant, persistence)
    return audited_list(one_list(shown, rest, top), reading)


def _of_run(
    run: Path,
    asked: tuple[str | None, str, "SampleChoice"],
    out: Path | None,
    progress: "Progress",
    *,
    force: bool,
) -> "Audit":
    from clickassay.core.contracts.conventions import CHANGED, CONVENTIONS
    from clickassay.core.output import check_place
    from clickassay.core.tables import write_tables
    from clickassay.metrics.clicks import CLICK_METRICS
    from clickassay.studies.audit.on_run import audit_run

    judgments, click, wanted = asked
    if click not in CLICK_METRICS:
        raise SettingsError(f"unknown click metric {click!r}; known are {', '.join(CLICK_METRICS)}")
    if out is not None:
        check_place(out, run, force=force)
    found = audit_run(run, judgments=judgments, wanted=wanted, progress=progress)
    if out is not None:
        tables = {
            table.name: frame for table, frame in ((CONVENTIONS, found.audited), (CHANGED, found.changed))
        }
        write_tables(out, tables, {"command": command_line()}, force=force)
    return found


def _with_value(table: "pl.DataFrame", column: str, wanted: str | None) -> "pl.DataFrame":
    """Keep the rows whose value is `wanted` to the digits given."""
    if wanted is None:
        return table
    try:
        number = Decimal(wanted)
        half = Decimal((0, (5,), int(number.as_tuple().exponent) - 1))
    except (InvalidOperation, ValueError):
        raise SettingsError(
            f"--value {wanted!r}: expected a number as a tool printed it, e.g. 0.46"
        ) from None
    # tools cut digits off as well as they round: a unit of the last digit upwards, half of one downwards
    low, high = float(number - half), float(number + 2 * half)
    kept = [value is not None and low <= value < high for value in table[column]]
    return table.filter(kept)


def _show_list(rows: "pl.DataFrame") -> None:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("convention", overflow="fold")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("choice")
    table.add_column("reported by")
    for row in rows.iter_rows(named=True):
        table.add_row(Text(row["convention"]), f"{row['value']:.4f}", Text(row["choice"]), Text(row["tools"]))
    _print_or_none(table)


def _show_run(run: Path, found: "Audit", rows: "pl.DataFrame", click: str) -> None:
    sample = found.sample
    say(
        f"{run}, {sample.key.label}: "
        f"{len(sample.queries):,} queries, {len(sample.sessions):,} configurations; * marks the run's own",
        _about_holes(found.holes),
    )
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("convention", overflow="fold")
    for head in ("mean", f"correlation with {click}", "against the run's own"):
        table.add_column(head, justify="right", min_width=7)
    table.add_column("reported by")
    every = found.audited.filter(click_metric=click)
    before = None
    for row in rows.filter(rows["mean"].is_not_null(), rows["same_as"].is_null()).iter_rows(named=True):
        if before not in {None, row["quantity"]}:
            table.add_section()
        before = row["quantity"]
        table.add_row(*_cells(row, every))
    _print_or_none(table)


def _about_holes(holes: int | None) -> str:
    if holes is None:
        return "Which results have no judgment is not known without --judgments."
    if holes:
        return f"{holes:,} results have no judgment."
    return (
        "Every result has a judgment, so what conventions do with results without one cannot be told apart "
        "on this run."
    )


def _cells(row: Row, rows: "pl.DataFrame") -> tuple[Text, ...]:
    alike = rows.filter(rows["same_as"] == row["convention"])["tools"].to_list()
    gap = "" if row["own"] else _with_interval(row, ("gap", "gap_low", "gap_high"), "+.3f")
    return tuple(
        Text(text)
        for text in (
            f"{row['convention']}{' *' if row['own'] else ''}",
            f"{row['mean']:.4f}",
            _with_interval(row, ("correlation", "ci_low", "ci_high"), ".3f"),
            gap,
            "; ".join((row["tools"], *alike)),
        )
    )


def _with_interval(row: Row, names: tuple[str, str, str], form: str) -> str:
    value, low, high = (row[name] for name in names)
    if value is None:
        return str(row["reason"] or "none")
    # + 0.0 after rounding: -0.000 is printed as 0
    number, *ends = (None if one is None else f"{round(one, 3) + 0.0:{form}}" for one in (value, low, high))
    return str(number) if None in ends else f"{number} ({ends[0]} to {ends[1]})"


def _say_left_out(rows: "pl.DataFrame") -> None:
    out = rows.filter(rows["mean"].is_null())
    for reason in out["reason"].unique(maintain_order=True):
        names = out.filter(out["reason"] == reason)["convention"]
        say(f"Not computed, since it {reason}: {', '.join(names)}")


def _say_changed(changed: "pl.DataFrame") -> None:
    within = changed.filter(changed["change"] == WITHIN_NOISE).height
    sure = changed.filter(changed["change"] != WITHIN_NOISE)
    if sure.is_empty():
        say("No convention changes which of two metrics correlates better, beyond noise.")
    else:
        say("Differences from other metrics of the run, when this convention alone is changed:")
    for convention in sure["convention"].unique(maintain_order=True):
        own = sure.filter(sure["convention"] == convention)
        told = [
            f"{change} against {', '.join(own.filter(own['change'] == change)['other'])}"
            for change in own["change"].unique(maintain_order=True)
        ]
        say(f"  {convention}: {'; '.join(told)}")
    if within:
        say(f"Reversed as well, but within noise before and after: {within}")


def _print_or_none(table: Table) -> None:
    if table.row_count:
        show(table)
    else:
        say("No convention gives this value.")
