"""One metric under the conventions of many tools, asked of a finished run or of one list."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from clickassay.core.errors import JudgmentError, NothingInCommonError, ReportError, SettingsError
from clickassay.core.files.scratch import with_scratch
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import ANY_SAMPLE, Sample, SampleChoice
from clickassay.correlation.conventions import audit_tables, lists_of, scale_of, with_conventions
from clickassay.findings.arrays import GradedSample, configurations_of, graded_sample
from clickassay.findings.run import Run, run_at
from clickassay.health.overlap import Side, names_apart
from clickassay.inputs.columns import JUDGMENTS
from clickassay.inputs.sources.fingerprint import Made
from clickassay.inputs.sources.mapping import names_of
from clickassay.inputs.staging.sources import Source, staged
from clickassay.inputs.tables import WholeInput, read_input
from clickassay.judgments.join import judged_pool, rows_of_numbers
from clickassay.judgments.prepare import prepare_judgments
from clickassay.metrics.catalogue import shown_pool
from clickassay.metrics.conventions import INCOMPLETE_JUDGMENTS, AuditScale, conventions
from clickassay.metrics.lists import NO_GRADE, Lists
from clickassay.patterns.lists import number_results

NEEDS_POOL = "needs judged results outside the rankings: give --judgments"
NEEDS_UNJUDGED = "needs to know which results have no judgment: give --judgments"


@dataclass(frozen=True)
class Audit:
    """Conventions computed on the judged configurations of one market, depth and judge."""

    sample: Sample  # The configurations; their offline metrics are the conventions that were computed.
    # Number of results of the configurations that have no judgment; None where that is not known.
    n_unjudged: int | None
    # audited, changed: In the forms of `contracts.conventions.CONVENTIONS` and
    # `contracts.conventions.CHANGED`.
    audited: pl.DataFrame
    changed: pl.DataFrame


@with_scratch()
def audit_run(
    place: Run | Path,
    *,
    judgments: Source | None = None,
    wanted: SampleChoice = ANY_SAMPLE,
    progress: Progress = silent,
) -> Audit:
    """Compute every convention on the judged configurations of one market, depth and judge of a run.

    judgments: those of the run; None = only the grades of results shown, which a run keeps.
    wanted: which market, depth and judge; what it leaves open is chosen as in `Run.key`.
    Raises ReportError if there is no such run, it is broken, its grades were drawn from clicks, or judgments
    are others; InputError, JudgmentError if these cannot be read.
    """
    progress(Event("reading the run"))
    run = run_at(place)
    settings = run.settings
    if settings.unjudged == "model":
        raise ReportError(
            f"{run.called} has grades that were drawn from clicks (unjudged = model), and no tool does that; "
            "audit a run with --unjudged drop or zero"
        )
    graded = graded_sample(run, run.key(wanted))
    sample, has_pool = graded.sample, judgments is not None
    n_unjudged = 0 if settings.unjudged != "zero" else None
    pool = shown_pool(graded.grades, settings.max_grade)
    lists = lists_of(sample.configuration_ids, graded.grades, pool)
    if judgments is not None:
        progress(Event("reading judgments"))
        lists, n_unjudged = _judged_lists(run, graded, judgments)
    progress(Event("computing conventions"))
    scale = scale_of(sample, settings)
    declared, reasons, columns = conventions(scale), {}, {}
    for one in declared:
        is_stored = settings.pool in one.own and one.column in sample.editorial_names
        if is_stored:
            own = sample.editorial_values[:, sample.editorial_names.index(one.column)]
            columns[one.measure] = own
            # judgments under which the run's own metrics differ have another pool
            if has_pool and one.needs_pool:
                again = one.values(lists, scale)
                if not np.allclose(again, own, rtol=0, atol=1e-9):
                    raise _other_judgments(run)
        elif one.needs_pool and not has_pool:
            reasons[one.measure] = NEEDS_POOL
        elif one.needs_unjudged and n_unjudged is None:
            reasons[one.measure] = NEEDS_UNJUDGED
        else:
            columns[one.measure] = one.values(lists, scale)
    audited = with_conventions(sample, columns)
    tables = audit_tables(audited, declared, reasons, pool=settings.pool, progress=progress)
    return Audit(audited, n_unjudged, *tables)


def _judged_lists(run: Run, graded: GradedSample, source: Source) -> tuple[Lists, int]:
    """Return lists with their grades and whole pools, and the number of results without a judgment."""
    key, settings = graded.sample.key, run.settings
    shown = configurations_of(run, key).select("market", "query", "results")
    names = names_of("judgments", settings.column)  # of the run: its judgments have these names
    made = staged("judgments", source, names)
    path = made.path if isinstance(made, Made) else made
    given = WholeInput.of(read_input("judgments", path, JUDGMENTS, names=names))
    queries = shown.select("market", "query").unique()
    judgments = prepare_judgments(given.rows, queries, settings, by_market=given.by_market)
    own, on = judgments.grades.filter(pl.col("judge") == key.judge), judgments.query_key
    query = shown.select(pl.struct("market", "query").rle_id().cast(pl.Int64)).to_series().to_numpy()
    results = number_results(shown["results"], query)
    rows = rows_of_numbers(shown, results, own, on)[results.top(key.depth)]
    grades = np.append(own["grade"].to_numpy().astype(np.int64), NO_GRADE)  # row -1: no judgment
    judged = grades[rows]
    there = judged != NO_GRADE
    if not there.any():
        # one name of each side; where they meet, it is the judge that does not
        theirs = judgments.grades
        if theirs.is_empty():  # no query is in both: they are named as they were read
            theirs = given.rows.select("market", "query", "url").drop_nulls()
        texts = shown.explode("results").select(*on, text="results")
        sides = Side("the run has", texts), Side("judgments have", theirs.select(*on, text="url"))
        apart = names_apart(*sides, on)
        raise NothingInCommonError(
            f"{source}: no result of {run.called} has a grade: {apart}; give its judgments"
        )
    if (judged != graded.grades)[there].any() or (settings.unjudged != "zero" and not there.all()):
        raise _other_judgments(run)
    pool = judged_pool(shown, own.group_by(*on, "grade").len(), settings.max_grade)
    return lists_of(graded.sample.configuration_ids, judged, pool), int((~there).sum())


def _other_judgments(run: Run) -> ReportError:
    return ReportError(
        f"--judgments are not those that {run.called} was made with: its grades or metrics differ"
    )


NONE = "-"
"""How a result without a grade is written."""


def one_list(shown: Sequence[int | None], others: Sequence[int], max_grade: int) -> Lists:
    """Return a list of the grades of its results, best first, and of `others` judged; None = without a grade.

    Raises JudgmentError if a grade is off the scale.
    """
    judged = [grade for grade in (*shown, *others) if grade is not None]
    off = [grade for grade in judged if not 0 <= grade <= max_grade]
    if off:
        raise JudgmentError(f"grade {off[0]} is off the scale 0..{max_grade}; give its top by --max-grade")
    grades = np.array([NO_GRADE if grade is None else grade for grade in shown], dtype=np.int16)
    pool = np.bincount(judged, minlength=max_grade + 1).reshape(1, max_grade + 1)
    return Lists(("",), grades, np.array([0, len(shown)]), pool.astype(np.int64))


def read_grades(option: str, text: str) -> list[int | None]:
    """Read grades with commas or blanks between them, - for none; SettingsError if one is neither."""
    words = text.replace(",", " ").split()
    if wrong := [word for word in words if word != NONE and not word.isdecimal()]:
        raise SettingsError(
            f"{option} {text!r}: {wrong[0]!r} is not a grade; expected e.g. 3,-,4,0,1 (-: no grade)"
        )
    return [None if word == NONE else int(word) for word in words]


def audit_list(lists: Lists, scale: AuditScale) -> pl.DataFrame:
    """Return a row for each convention of one list: quantity, convention, value, choice, tools."""
    rows = [
        (one.quantity, one.measure, float(one.values(lists, scale)[0]), one.choice, one.tools)
        for one in (*conventions(scale), *conventions(scale, INCOMPLETE_JUDGMENTS))
    ]
    names = ("quantity", "convention", "value", "choice", "tools")
    return pl.DataFrame(rows, dict.fromkeys(names, pl.String) | {"value": pl.Float64}, orient="row")
