"""`clickassay evaluate`: metrics of rankings against judgments, and which ranking is better."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clickassay.cli.console import command_line, say, show, show_table, write_out
from clickassay.cli.options import JSON, QUIET, TablesOut, metric_names
from clickassay.cli.progress import shown_progress
from clickassay.cli.settings import settings_of
from clickassay.core.errors import SettingsError
from clickassay.core.settings import Settings

if TYPE_CHECKING:
    from clickassay.studies.evaluation.job import EvaluatedFiles

FormatName = Literal["text", "tsv", "jsonl", "markdown", "latex", "json"]
METRICS = "nDCG@10 ERR@10 AP RR P@10"
STDIN = "-"


def _list_metrics(wanted: bool) -> None:
    if wanted:
        from clickassay.studies.evaluation.catalogue import listing, rules

        heads, rows = listing()
        show_table(heads, rows, title="Metrics")
        say("In a name of trec_eval, K is a depth and L a level of recall. Every metric also takes:")
        say(*(f"{name}: {meaning}" for name, meaning in rules()))
        raise typer.Exit


@dataclass(frozen=True)
class MetricOptions:
    """The measures, and the queries that they are computed over."""

    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAMES",
            help=f"Metrics to compute. Several with commas or blanks. [default: {METRICS}]",
            autocompletion=metric_names,
        ),
    ] = None
    rel: Annotated[
        int,
        typer.Option(
            "--relevant-grade", "--rel", metavar="GRADE",
            help="Lowest grade that is relevant, where a name has no rel.",
        ),
    ] = 1  # fmt: skip
    average_over: Annotated[
        Literal["judged", "both"],
        typer.Option(help="Means over all judged queries, or over those that the ranking has too."),
    ] = "judged"
    bounds: Annotated[
        bool,
        typer.Option(
            "--bounds", help="Also the least and the largest value over all grades of results without one."
        ),
    ] = False
    known: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What users know already: lines `query doc`.")
    ] = None
    expected: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="How many relevant results users expect: lines `query number`."),
    ] = None
    judge: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Judgments of more queries, by a model: their means, corrected by QRELS, which people made.",
        ),
    ] = None
    plan: Annotated[
        Path | None,
        typer.Option(metavar="PLAN", help="With --judge: the plan that chose the queries of QRELS."),
    ] = None
    queries: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Table with a column query and classes of queries.")
    ] = None
    by: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Class to split by. [default: every class]")
    ] = None
    baseline: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Compare each ranking with the one of this name alone."),
    ] = None
    list_metrics: Annotated[
        bool,
        typer.Option(
            "--list-metrics", callback=_list_metrics, is_eager=True, help="List all metrics and exit."
        ),
    ] = False


@dataclass(frozen=True)
class NumbersFormat:
    """How numbers are written to stdout."""

    per_query: Annotated[bool, typer.Option("--per-query", help="Also every value of every query.")] = False
    format: Annotated[
        FormatName,
        typer.Option(help="How to print the numbers."),
    ] = "text"
    json: JSON = False

    def __post_init__(self) -> None:
        """Refuse two formats at once."""
        if self.json and self.format not in {"text", "json"}:
            raise SettingsError("give --format or --json, not both")

    @property
    def name(self) -> str:
        """The format."""
        return "json" if self.json else self.format


def evaluate(
    qrels: Annotated[Path, typer.Argument(metavar="QRELS", help="Judgments: lines `query 0 doc grade`.")],
    rankings: Annotated[
        list[Path],
        typer.Argument(metavar="RANKINGS", help="Ranked lists: lines `query Q0 doc rank score tag`."),
    ],
    metrics: MetricOptions,
    settings: Annotated[
        Settings,
        settings_of(
            "max_grade", "scale", "conflicts", "persistence", "seed", relevant_grade=1, success_grade=0
        ),
    ],
    form: NumbersFormat,
    output: TablesOut,
    quiet: QUIET = False,
) -> None:
    """Evaluate rankings against judgments, and test whether two differ significantly.

    Files are as for trec_eval; - is standard input. With --out, also a report with curves.

    Examples
    --------
        clickassay evaluate qrels.txt run.txt -m "nDCG@10 ERR@10 AP(rel=2)"

        clickassay evaluate qrels.txt old.txt new.txt --bounds --out reports/old-new

        clickassay evaluate people.txt old.txt new.txt --judge model.txt
    """
    from clickassay.api.studies.evaluate import classes_of, design_of
    from clickassay.core.files.scratch import scratch
    from clickassay.studies.evaluation.job import Besides, EvaluationOptions, check_place, evaluate_files

    if str(metrics.judge) == STDIN:
        raise SettingsError("--judge -: standard input is for QRELS or RANKINGS; give --judge a file")
    options = EvaluationOptions(
        " ".join(metrics.metric or [METRICS]), metrics.rel, settings.max_grade, settings.persistence,
        metrics.average_over, metrics.bounds, metrics.known, metrics.expected, metrics.judge,
        metrics.baseline, settings.scale if "scale" in settings.model_fields_set else (), settings.seed,
        settings.conflicts, metrics.plan, metrics.queries, tuple(metrics.by or ()),
    )  # fmt: skip
    if output.out is not None:
        check_place(output.out, qrels, rankings, force=output.force)
    with scratch(), shown_progress(quiet=quiet) as progress:
        qrels, *rankings = _with_stdin([qrels, *rankings])
        besides = Besides(design_of(options.plan), classes_of(options.queries, options.by))
        result = evaluate_files(qrels, rankings, options, besides=besides, progress=progress)
        _write(result, output, per_query=form.per_query)
    _show(result, form.name, per_query=form.per_query)
    if output.out is not None and form.name == "text":
        say(f"Report: {output.out / 'report.html'}")


def _with_stdin(paths: list[Path]) -> list[Path]:
    """Return paths with standard input, which - names, as a file that is gone at the end."""
    from clickassay.core.files.scratch import scratch_file

    given = list(map(str, paths))
    if given.count(STDIN) > 1:
        raise SettingsError("standard input, -, is named twice; give one of the files by its name")
    if STDIN not in given:
        return paths
    file = scratch_file("standard input", "stdin")
    with file.open("wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream)
    return [file if str(path) == STDIN else path for path in paths]


def _write(result: "EvaluatedFiles", output: TablesOut, *, per_query: bool) -> None:
    from clickassay.studies.evaluation.job import write_evaluation

    if output.out is None:
        return
    write_evaluation(result, output.out, command=command_line(), per_query=per_query, force=output.force)


def _show(result: "EvaluatedFiles", form: str, *, per_query: bool) -> None:
    from clickassay.api.studies.evaluate import evaluation_parts
    from clickassay.studies.evaluation.job import WRITERS

    if form in WRITERS:
        write_out(WRITERS[form](result, per_query=per_query))
        return
    show(evaluation_parts(result.conventions, result.evaluation.frames, per_query=per_query))
