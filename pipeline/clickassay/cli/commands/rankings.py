"""Rankings and judgments, without clicks: `clickassay evaluate` and `judges`."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from clickassay.api import rankings
from clickassay.cli.console import say, show, show_table, write_json, write_out
from clickassay.cli.exit import command_line
from clickassay.cli.options import JSON, QUIET, TablesOut, asked, options_of
from clickassay.cli.progress import shown_progress
from clickassay.cli.settings import settings_of
from clickassay.core.errors import SettingsError
from clickassay.core.settings import Settings

FormatName = Literal["text", "tsv", "jsonl", "markdown", "latex", "json"]
STDIN = "-"


def _list_metrics(wanted: bool) -> None:
    if wanted:
        from clickassay.metrics.names import listing, rules

        heads, rows = listing()
        show_table(heads, rows, title="Metrics")
        say("In names of trec_eval, K is a depth and L a level of recall. Every metric also takes:")
        say(*(f"{name}: {meaning}" for name, meaning in rules()))
        raise typer.Exit


@dataclass(frozen=True)
class NumbersFormat:
    """How numbers are written to stdout."""

    per_query: Annotated[bool, typer.Option("--per-query", help="Also print each metric for each query.")] = (
        False
    )
    format: Annotated[FormatName, typer.Option(help="Format of the numbers.")] = "text"
    json: JSON = False

    def __post_init__(self) -> None:
        if self.json and self.format not in {"text", "json"}:
            raise SettingsError("give --format or --json, not both")

    @property
    def name(self) -> str:
        """The format."""
        return "json" if self.json else self.format


def evaluate(
    *,
    given: Annotated[dict[str, Any], options_of(rankings.evaluate)],
    list_metrics: Annotated[  # noqa: ARG001 - its callback ends the command
        bool,
        typer.Option(
            "--list-metrics", callback=_list_metrics, is_eager=True, help="List all metrics and exit."
        ),
    ] = False,
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

    Files are as for trec_eval; - is standard input. --out also writes a report with curves.

    Examples
    --------
        clickassay evaluate qrels.txt run.txt -m "nDCG@10 ERR@10 AP(rel=2)"

        clickassay evaluate qrels.txt old.txt new.txt --bounds --out reports/old-new

        clickassay evaluate people.txt old.txt new.txt --judge model.txt
    """
    from clickassay.api.studies.evaluate import classes_of, design_of, evaluation_parts
    from clickassay.core.files.scratch import scratch
    from clickassay.studies.evaluation.job import WRITERS, evaluate_files, write_evaluation

    if str(given["judge"]) == STDIN:
        raise SettingsError("--judge -: only QRELS or RANKINGS can be standard input; give --judge a file")
    qrels, runs = given.pop("qrels"), given.pop("runs")
    measures = " ".join(given.pop("measures") or [rankings.MEASURES])
    besides = {"plan": given.pop("plan"), "queries": given.pop("queries"), "by": given.pop("by") or ()}
    given |= {name: getattr(settings, name) for name in ("max_grade", "persistence", "seed", "conflicts")}
    given["scale"] = settings.scale if "scale" in settings.model_fields_set else ()
    output.check(qrels, *runs)
    with scratch(), shown_progress(quiet=quiet) as progress:
        qrels, *runs = _with_stdin([qrels, *runs])
        classes = classes_of(besides["queries"], besides["by"])
        result = evaluate_files(
            qrels, runs, measures, **given, design=design_of(besides["plan"]), classes=classes,
            progress=progress,
        )  # fmt: skip
        if output.out is not None:
            write_evaluation(
                result, output.out, besides=besides, command=command_line(), per_query=form.per_query,
                force=output.force,
            )  # fmt: skip
    if form.name in WRITERS:
        write_out(WRITERS[form.name](result, per_query=form.per_query))
        return
    show(evaluation_parts(result.evaluation, result.conventions, per_query=form.per_query))
    output.tell("Report", "report.html")


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


def judges(
    output: TablesOut,
    given: Annotated[dict[str, Any], options_of(rankings.judges)],
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Measure how well judges agree, such as people and a language model, without a log.

    Files may have any layout that `import judgments` reads. Queries are the units of intervals. --out also
    writes a report, and a sheet of the results that judges grade differently: fill in its column grade.

    Examples
    --------
        clickassay judges people.csv model.csv --at-least 0.4 --out people-model

        clickassay judges people.txt model.txt --rankings old.txt --rankings new.txt
    """
    output.check(*given["files"], *(given["rankings"] or ()), given["queries"], given["run"])
    with shown_progress(quiet=quiet) as progress:
        found = asked(rankings.judges, given, progress=progress)
        output.write(found)
    if json:
        write_json(found.facts)
        return
    show(found.parts())
    output.tell("Report", "report.html")
