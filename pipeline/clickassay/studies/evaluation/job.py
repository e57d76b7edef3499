"""Evaluates run files against judgments; writes the result as text, or as a folder with a report."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from clickassay.core.errors import SettingsError
from clickassay.core.files.tables import write_tables
from clickassay.core.progress import Progress, silent
from clickassay.core.provenance import versions
from clickassay.core.text import escape
from clickassay.core.text.escape import latex, markdown, terminal
from clickassay.health.checks import checked
from clickassay.health.measures import judgment_numbers
from clickassay.inputs.sources.fingerprint import unchanged
from clickassay.metrics.names import parse_measures
from clickassay.studies.evaluation.conventions import Convention, conventions
from clickassay.studies.evaluation.curves import curve_tables
from clickassay.studies.evaluation.evaluate import Evaluation, evaluate
from clickassay.studies.evaluation.forms import ASKED, EVALUATION_TABLES, LEADERBOARD, asked_for
from clickassay.studies.evaluation.report import answer, build_evaluation_report, evaluation_tables

SHALLOWEST, DEEPEST = 10, 100
"""Least and largest depth of the curves of gain; between them they are as deep as the measures are cut."""


@dataclass(frozen=True)
class EvaluatedFiles:
    """An evaluation with its conventions and options."""

    evaluation: Evaluation  # Its numbers.
    # Pairs (convention, text): the definitions that the numbers depend on.
    conventions: tuple[Convention, ...]
    options: Mapping[str, Any]  # What it was asked for: measures, and other parameters of `evaluate`.
    inputs: Mapping[str, object]  # Name, size and digest of each file, taken before it was read.


def evaluate_files(
    qrels: Path,
    runs: Sequence[Path],
    measures: str,
    *,
    progress: Progress = silent,
    **options: Any,  # noqa: ANN401 - of several types
) -> EvaluatedFiles:
    """Evaluate run files against a file of judgments; raises as `evaluate` does where documents are apart.

    measures, options: names with blanks between them, and the other parameters of `evaluate`.
    """
    parsed, named = parse_measures(measures), run_names(runs)
    files = {"qrels": qrels, **{name: options.get(name) for name in ("known", "expected", "judge")}}
    with unchanged(files | {f"run {name}": file for name, file in named.items()}) as inputs:
        evaluation = evaluate(qrels, named, parsed, strict=True, progress=progress, **options)
    cautions = " ".join((*_scale_cautions(evaluation), *evaluation.cautions))
    texts = conventions(evaluation, average_over=options.get("average_over", "judged"))
    told = (*((("Caution", cautions),) if cautions else ()), *texts)
    return EvaluatedFiles(evaluation, told, {"measures": measures, **options}, inputs)


def _scale_cautions(evaluation: Evaluation) -> Iterator[str]:
    arguments = [dict(one.arguments) for one in evaluation.measures]
    tops = [int(str(one["max_rel"])) for one in arguments if "max_rel" in one and "gains" not in one]
    counts = next(iter(evaluation.lists.values())).pool.sum(axis=0)
    grades = pl.Series(np.repeat(np.arange(len(counts)), counts))
    for one in checked(judgment_numbers(grades, max(tops, default=1))):
        if tops and one.check in ("top_grade_unused", "bottom_grade_unused") and one.fires:
            yield one.text


def run_names(runs: Sequence[Path], what: str = "run") -> dict[str, Path]:
    """Return files by name without ending, or path if two have it; SettingsError if one is given twice."""
    stems = [run.stem for run in runs]
    named = {str(run) if stems.count(run.stem) > 1 else run.stem: run for run in runs}
    if len(named) < len(runs):
        repeated = next(run for run in runs if list(runs).count(run) > 1)
        raise SettingsError(f"{what} {repeated} is given twice; give each once")
    return named


def as_tsv(result: EvaluatedFiles, *, per_query: bool) -> str:
    """Return ``measure<TAB>query<TAB>value`` as trec_eval does, all digits; means are of query ``all``."""
    lines = []
    for run in result.evaluation.lists:
        lines.append(("runid", "all", terminal(run)))
        if per_query:
            rows = result.evaluation.per_query.filter(run=run).select("measure", "query", "value").iter_rows()
            lines += [(measure, terminal(query), repr(value)) for measure, query, value in rows]
        means = result.evaluation.means.filter(run=run).select("measure", "mean").iter_rows()
        lines += [(measure, "all", repr(value)) for measure, value in means]
    return "".join("\t".join(line) + "\n" for line in lines)


def as_json(result: EvaluatedFiles, *, per_query: bool) -> str:
    """Return one JSON object: answer, conventions, and lists of runs, means, comparisons and queries."""
    frames = _records(result, per_query=per_query)
    named = {f"{kind}s" if kind != "query" else "queries": frame.to_dicts() for kind, frame in frames.items()}
    told = {"answer": answer(result.evaluation), "conventions": dict(result.conventions)}
    return escape.json(told | named, indent=2) + "\n"


_KINDS = {LEADERBOARD.name: "leaderboard_place"}
"""What a row of a table is, where its name is not the plural of that."""


def _records(result: EvaluatedFiles, *, per_query: bool) -> dict[str, pl.DataFrame]:
    evaluation = result.evaluation
    frames = {"run": evaluation.runs, "mean": evaluation.means, "comparison": evaluation.comparisons}
    for table in asked_for(evaluation.frames):
        frames[_KINDS.get(table.name, table.name.removesuffix("s"))] = evaluation.frames[table.name]
    return frames | ({"query": evaluation.per_query} if per_query else {})


def as_jsonl(result: EvaluatedFiles, *, per_query: bool) -> str:
    """Return a JSON object a line; ``record`` is conventions, run, mean, comparison or query."""
    frames = _records(result, per_query=per_query)
    records: list[dict[str, object]] = [{"record": "conventions", **dict(result.conventions)}]
    records += [
        {"record": kind, **row} for kind, frame in frames.items() for row in frame.iter_rows(named=True)
    ]
    return "".join(f"{escape.json(record)}\n" for record in records)


def as_markdown(result: EvaluatedFiles, *, per_query: bool) -> str:
    """Return the answer, the tables, and the conventions as a list."""
    from clickassay.report.writers.tables import markdown_table  # noqa: PLC0415 - templates

    from_tables = [
        "\n\n".join([f"## {table.title}", markdown_table(table), *table.remarks])
        for table in evaluation_tables(result.evaluation.frames, per_query=per_query)
    ]
    told = "\n".join(f"- {what}: {markdown(how)}" for what, how in result.conventions)
    head = f"# {markdown(answer(result.evaluation))}"
    return "\n\n".join([head, *from_tables, "## Conventions in force", told]) + "\n"


def as_latex(result: EvaluatedFiles, *, per_query: bool) -> str:
    """Return answer and conventions as comments, and the tables; the document needs the package booktabs."""
    from clickassay.report.writers.tables import latex_table  # noqa: PLC0415 - where it is asked for

    notes = (("Answer", answer(result.evaluation)), *result.conventions)
    head = "".join(f"% {what}: {latex(how)}\n" for what, how in notes)
    return head + "\n".join(
        latex_table(table) for table in evaluation_tables(result.evaluation.frames, per_query=per_query)
    )


WRITERS: Mapping[str, Callable[..., str]] = {
    "tsv": as_tsv,
    "json": as_json,
    "jsonl": as_jsonl,
    "markdown": as_markdown,
    "latex": as_latex,
}
"""How numbers are written for programs and documents, by the name of the format."""


def write_evaluation(
    result: EvaluatedFiles,
    out: Path,
    *,
    besides: Mapping[str, object],
    command: str,
    per_query: bool,
    force: bool,
) -> None:
    """Write report, tables and Parquet into a new folder (else OutputError); `besides` are settings too."""
    from clickassay.report.writers.page import write_study  # noqa: PLC0415 - templates take a while to import

    one, rel = result.evaluation, result.options.get("rel", 1)
    depth = min(DEEPEST, max(SHALLOWEST, *(measure.depth or 0 for measure in one.measures)))
    frames = one.frames | curve_tables(one.lists, rel=rel, depth=depth)
    left = set(ASKED) - set(asked_for(frames))
    frames = {table.name: frames[table.name] for table in EVALUATION_TABLES if table not in left}
    report = build_evaluation_report(
        one, frames, result.conventions, rel=rel, command=command, per_query=per_query
    )
    asked = {name: one for name, one in result.options.items() if name not in ("design", "classes")}
    settings = {
        name: str(one) if isinstance(one, Path) else one for name, one in (asked | dict(besides)).items()
    }
    info = {
        "command": command, "settings": settings,
        "measures": [str(measure) for measure in result.evaluation.measures],
        "conventions": dict(result.conventions), "inputs": dict(result.inputs), "versions": versions(),
    }  # fmt: skip
    write_tables(out, frames, info, also=partial(write_study, report), force=force)
