"""`clickassay audit`: the same metric under the conventions of many tools, on a run or on one list."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clickassay.cli.console import command_line, say, show_table, write_frame
from clickassay.cli.options import CLICK_METRIC, QUIET, Format, SampleOptions, TablesOut
from clickassay.cli.places import HERE
from clickassay.cli.progress import shown_progress
from clickassay.cli.settings import settings_of
from clickassay.core.errors import SettingsError
from clickassay.core.settings import Settings
from clickassay.core.text.words import did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from clickassay.core.progress import Progress
    from clickassay.studies.audit.on_run import Audit

Row = dict[str, Any]

WITHIN_NOISE = "reversed, within noise"
"""What `correlation.conventions.change` says of an order that was never significant."""


@dataclass(frozen=True)
class OneList:
    """One list by its grades, in place of a run."""

    grades: Annotated[
        str | None,
        typer.Option(help="In place of RUN: the grades of one list, best result first, - for none."),
    ] = None
    others: Annotated[
        str, typer.Option(help="With --grades: grades of the judged results that the list does not show.")
    ] = ""


def audit(
    settings: Annotated[Settings, settings_of("max_grade", "relevant_grade", "persistence", success_grade=0)],
    sample: SampleOptions,
    one_list: OneList,
    output: TablesOut,
    form: Format,
    run_folder: Annotated[Path | None, typer.Argument(metavar="RUN", help="A run folder.")] = None,
    judgments: Annotated[
        str | None,
        typer.Option(help="The judgments of the run: some conventions ask for results that no list shows."),
        HERE,
    ] = None,
    click_metric: CLICK_METRIC = "MeanRR",
    value: Annotated[
        str | None, typer.Option(help="Show only what gives this value, to the digits given.")
    ] = None,
    quiet: QUIET = False,
) -> None:
    """Explain why tools report other numbers for one metric, and whether that changes a conclusion.

    Grades, relevance and persistence are the run's; the options of the scale are for --grades.

    Examples
    --------
        clickassay audit reports/june --judgments grades.csv

        clickassay audit reports/june --judgments grades.csv --click-metric UCTR --depth 10 --out june-audit

        clickassay audit --grades 3,-,4,0,1 --others 4,3,2,2,1,0 --value 0.46
    """
    if (run_folder is None) == (one_list.grades is None):
        raise SettingsError("give a run folder, or the grades of one list by --grades")
    if run_folder is None and output.out is not None:
        raise SettingsError("--out is for a run; of one list, keep what --csv prints")
    if run_folder is None:
        _audit_list(_of_list(one_list, sample.depth, settings), value, form)
        return
    with shown_progress(quiet=quiet) as progress:
        audited = _of_run(run_folder, judgments, click_metric, sample, output, progress)
    every = audited.audited.filter(click_metric=click_metric)
    rows = _with_value(every, "mean", value)
    if form.for_programs:
        write_frame(rows, csv=form.csv)
        return
    _show_run(run_folder, audited, rows, click_metric)
    if value is not None:
        _say_how_telling(rows, every.filter(every["mean"].is_not_null()))
    _say_left_out(every)
    _say_changed(audited.changed.filter(click_metric=click_metric).join(rows, on="convention", how="semi"))
    if output.out is not None:
        say(f"Tables: {output.out}")


def _audit_list(every: "pl.DataFrame", value: str | None, form: Format) -> None:
    rows = _with_value(every, "value", value)
    if form.for_programs:
        write_frame(rows, csv=form.csv)
        return
    _show_list(rows)
    if value is not None:
        _say_how_telling(rows, every)


def _of_list(one: OneList, depth: int | None, settings: Settings) -> "pl.DataFrame":
    from clickassay.metrics.tools.formulas import AuditScale
    from clickassay.studies.audit.one_list import audit_list, one_list, read_grades

    shown = read_grades("--grades", one.grades or "")
    rest = [grade for grade in read_grades("--others", one.others) if grade is not None]
    limits = AuditScale(
        depth or max(1, len(shown)), settings.max_grade, settings.relevant_grade, settings.persistence
    )
    return audit_list(one_list(shown, rest, settings.max_grade), limits)


def _of_run(
    run: Path,
    judgments: str | None,
    click_metric: str,
    sample: SampleOptions,
    output: TablesOut,
    progress: "Progress",
) -> "Audit":
    from clickassay.core.contracts.conventions import CHANGED, CONVENTIONS
    from clickassay.core.files.output import check_place
    from clickassay.core.files.tables import write_tables
    from clickassay.metrics.clicks import CLICK_METRICS
    from clickassay.studies.audit.on_run import audit_run

    if click_metric not in CLICK_METRICS:
        raise SettingsError(
            f"unknown click metric {click_metric!r}; {did_you_mean(click_metric, CLICK_METRICS)}"
        )
    if output.out is not None:
        check_place(output.out, run, force=output.force)
    audited = audit_run(run, judgments=judgments, wanted=sample.choice, progress=progress)
    if output.out is not None:
        tables = {
            table.name: frame for table, frame in ((CONVENTIONS, audited.audited), (CHANGED, audited.changed))
        }
        write_tables(output.out, tables, {"command": command_line()}, force=output.force)
    return audited


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


def _say_how_telling(rows: "pl.DataFrame", every: "pl.DataFrame") -> None:
    """Say how many conventions give a value: one that many give does not tell which one a tool has."""
    quantities = rows["quantity"].n_unique()
    if rows.height > 1:
        say(
            f"{rows.height} of {every.height} conventions give this value, of {quantities} "
            f"metric{'' if quantities == 1 else 's'}: it does not tell which of them a tool has. Look only "
            "at the metric that the tool names, give more digits, or take a list with other grades: a list "
            "whose order is ideal has 1 by most conventions, and one without a relevant result 0."
        )


def _show_list(rows: "pl.DataFrame") -> None:
    cells = [
        (row["convention"], f"{row['value']:.4f}", row["choice"], row["tools"])
        for row in rows.iter_rows(named=True)
    ]
    _show_or_none(("convention", "value", "choice", "reported by"), cells, numbers=("value",))


def _show_run(run: Path, audited: "Audit", rows: "pl.DataFrame", click_metric: str) -> None:
    sample = audited.sample
    say(
        f"{run}, {sample.key.label}: "
        f"{len(sample.queries):,} queries, {len(sample.sessions):,} configurations; * marks the run's own",
        _about_unjudged(audited.n_unjudged),
    )
    every = audited.audited.filter(click_metric=click_metric)
    shown = rows.filter(rows["mean"].is_not_null(), rows["same_as"].is_null())
    quantities = shown["quantity"].to_list()
    numbers = ("mean", f"correlation with {click_metric}", "against the run's own")
    _show_or_none(
        ("convention", *numbers, "reported by"),
        [_cells(row, every) for row in shown.iter_rows(named=True)],
        numbers=numbers,
        sections=[
            place for place in range(len(quantities) - 1) if quantities[place] != quantities[place + 1]
        ],
    )


def _about_unjudged(n_unjudged: int | None) -> str:
    if n_unjudged is None:
        return "Which results have no judgment is not known without --judgments."
    if n_unjudged:
        return f"{n_unjudged:,} results have no judgment."
    return (
        "Every result has a judgment, so this run cannot show what conventions do with results without one."
    )


def _cells(row: Row, rows: "pl.DataFrame") -> tuple[str, ...]:
    alike = rows.filter(rows["same_as"] == row["convention"])["tools"].to_list()
    gap = "" if row["own"] else _with_interval(row, ("gap", "gap_low", "gap_high"), "+.3f")
    return (
        f"{row['convention']}{' *' if row['own'] else ''}",
        f"{row['mean']:.4f}",
        _with_interval(row, ("correlation", "ci_low", "ci_high"), ".3f"),
        gap,
        "; ".join((row["tools"], *alike)),
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
    significant = changed.filter(changed["change"] != WITHIN_NOISE)
    if significant.is_empty():
        say("No convention changes which of two metrics correlates better, beyond noise.")
    else:
        say("Differences from other metrics of the run, when this convention alone is changed:")
    for convention in significant["convention"].unique(maintain_order=True):
        own = significant.filter(significant["convention"] == convention)
        changes = [
            f"{change} against {', '.join(own.filter(own['change'] == change)['other'])}"
            for change in own["change"].unique(maintain_order=True)
        ]
        say(f"  {convention}: {'; '.join(changes)}")
    if within:
        say(f"Reversed as well, but within noise before and after: {within}")


def _show_or_none(heads: Sequence[str], rows: Sequence[tuple[str, ...]], **more: Any) -> None:  # noqa: ANN401
    if rows:
        show_table(heads, rows, **more)
    else:
        say("No convention gives this value.")
