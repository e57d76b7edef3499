"""`clickassay audit`: the same metric under the conventions of many tools, on a run or on one list."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clickassay.cli.console import command_line, say, show, write_frame
from clickassay.cli.options import CLICK_METRIC, QUIET, Format, SampleOptions, TablesOut
from clickassay.cli.places import HERE
from clickassay.cli.progress import shown_progress
from clickassay.cli.settings import settings_of
from clickassay.core.errors import SettingsError
from clickassay.core.settings import Settings

if TYPE_CHECKING:
    from clickassay.api.studies.audit import AuditResult, ListAuditResult


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
        found = _of_list(one_list, sample.depth, settings, value)
        write_frame(found.table, csv=form.csv) if form.for_programs else show(found.parts())
        return
    audited = _of_run(run_folder, judgments, (click_metric, value), sample, output, quiet=quiet)
    if form.for_programs:
        write_frame(audited.shown, csv=form.csv)
        return
    show(audited.parts())
    if output.out is not None:
        say(f"Tables: {output.out}")


def _of_list(one: OneList, depth: int | None, settings: Settings, value: str | None) -> "ListAuditResult":
    from clickassay.api.studies.audit import ListAuditResult
    from clickassay.metrics.conventions import AuditScale
    from clickassay.studies.audit.one_list import read_grades

    shown = read_grades("--grades", one.grades or "")
    rest = [grade for grade in read_grades("--others", one.others) if grade is not None]
    limits = AuditScale(
        depth or max(1, len(shown)), settings.max_grade, settings.relevant_grade, settings.persistence
    )
    return ListAuditResult.of(shown, rest, limits, value)


def _of_run(
    run: Path,
    judgments: str | None,
    asked: tuple[str, str | None],
    sample: SampleOptions,
    output: TablesOut,
    *,
    quiet: bool,
) -> "AuditResult":
    from clickassay.api.studies.audit import AuditResult, audited_run
    from clickassay.core.files.output import check_place

    if output.out is not None:
        check_place(output.out, run, force=output.force)
    with shown_progress(quiet=quiet) as progress:
        audited = audited_run(run, judgments, asked[0], sample.choice, progress)
        found = AuditResult(audited, *asked, str(run))
        if output.out is not None:
            found.write(output.out, force=output.force, command=command_line())
    return found
