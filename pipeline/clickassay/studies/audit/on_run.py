"""The conventions of many tools on the judged configurations of a run: read, computed, as tables."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from clickassay.core.errors import ReportError
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import ANY_SAMPLE, Floats, Sample, SampleChoice
from clickassay.core.settings import Settings
from clickassay.inputs.columns import JUDGMENTS
from clickassay.inputs.tables import collected, read_input
from clickassay.judgments.prepare import Judgments, prepare_judgments
from clickassay.judgments.shown import judged_pool, judgment_rows
from clickassay.metrics.catalogue import shown_pool
from clickassay.studies.audit.conventions import Convention, conventions
from clickassay.studies.audit.tables import audit_tables, lists_of, reading_of, with_conventions
from clickassay.studies.audit.tool_formulas import Reading
from clickassay.studies.evaluation.lists import NO_GRADE, Lists
from clickassay.studies.finished_run import FinishedRun, GradedSample

NEEDS_POOL = "asks for judged results that no list shows: give --judgments"
NEEDS_HOLES = "asks which results have no judgment: give --judgments"


@dataclass(frozen=True)
class Audit:
    """What conventions make of the judged configurations of one market, depth and judge.

    Attributes
    ----------
    sample
        The configurations; their editorial metrics are the conventions that were computed.
    reading
        The cut and the scale.
    holes
        Results of the configurations that have no judgment; None where that is not known.
    audited, changed
        In the forms of `contracts.conventions.CONVENTIONS` and `contracts.conventions.CHANGED`.
    """

    sample: Sample
    reading: Reading
    holes: int | None
    audited: pl.DataFrame
    changed: pl.DataFrame


def audit_run(
    folder: Path,
    *,
    judgments: str | None = None,
    wanted: SampleChoice = ANY_SAMPLE,
    progress: Progress = silent,
) -> Audit:
    """Compute every convention on the judged configurations of one market, depth and judge of a run.

    Parameters
    ----------
    folder
        What `clickassay run` or `clickassay report` made.
    judgments
        The judgments that the run was made with; None = only what the run keeps, the grades of results shown.
    wanted
        Which; where it leaves that open as in `FinishedRun.key`.

    Raises
    ------
    ReportError
        If there is no such run, it is broken, its grades were drawn from clicks, or `judgments` are not its.
    InputError, JudgmentError
        If `judgments` cannot be read.
    """
    progress(Event("reading the run"))
    run = FinishedRun(folder)
    settings = run.settings
    if settings.unjudged == "model":
        raise ReportError(
            f"{folder} has grades that were drawn from clicks (unjudged = model), and no tool does that; "
            "audit a run with --unjudged drop or zero"
        )
    graded = run.sample(run.key(wanted))
    sample, known = graded.sample, _Known.of_run(graded, settings)
    if judgments is not None:
        progress(Event("reading judgments"))
        known = _Known.of_judgments(run, graded, judgments)
    progress(Event("computing conventions"))
    reading = reading_of(sample, settings)
    found = conventions(reading)
    reasons = {one.measure: why for one in found if (why := _why_not(one, sample, known, settings))}
    columns = {
        one.measure: _stored(one, sample)
        if _is_stored(one, sample, settings)
        else one.values(known.lists, reading)
        for one in found
        if one.measure not in reasons
    }
    if known.whole_pool:
        _check_own(folder, sample, known, reading, settings)
    audited = with_conventions(sample, columns)
    tables = audit_tables(audited, found, reasons, pool=settings.pool, progress=progress)
    return Audit(audited, reading, known.holes, *tables)


@dataclass(frozen=True)
class _Known:
    """What is known of the lists: whether the pool is whole, and how many results have no judgment."""

    lists: Lists
    whole_pool: bool
    holes: int | None

    @classmethod
    def of_run(cls, graded: GradedSample, settings: Settings) -> "_Known":
        holes = 0 if settings.unjudged != "zero" else None
        pool = shown_pool(graded.grades, settings.max_grade)
        return cls(lists_of(graded.sample, graded.grades, pool), False, holes)

    @classmethod
    def of_judgments(cls, run: FinishedRun, graded: GradedSample, path: str) -> "_Known":
        key, settings = graded.sample.key, run.settings
        lists = run.configurations(key).select("market", "query", "results")
        judgments = _graded(path, lists, settings)
        own, on = judgments.grades.filter(pl.col("judge") == key.judge), judgments.query_key
        rows = judgment_rows(lists, own, on, key.depth)
        known = np.append(own["grade"].to_numpy().astype(np.int64), NO_GRADE)  # -1, no judgment, is the last
        judged = known[rows]
        there = judged != NO_GRADE
        if (judged != graded.grades)[there].any() or (settings.unjudged != "zero" and not there.all()):
            raise _not_its(run.folder)
        pool = judged_pool(lists, own.group_by(*on, "grade").len(), settings.max_grade)
        return cls(lists_of(graded.sample, judged, pool), True, int((~there).sum()))


def _graded(path: str, lists: pl.DataFrame, settings: Settings) -> Judgments:
    read = read_input("judgments", path, JUDGMENTS)
    queries = lists.select("market", "query").unique()
    return prepare_judgments(collected(read), queries, settings, by_market="market" in read.columns)


def _not_its(folder: Path) -> ReportError:
    return ReportError(f"--judgments are not those that {folder} was made with: its grades or metrics differ")


def _why_not(one: Convention, sample: Sample, known: _Known, settings: Settings) -> str | None:
    """Return why a convention cannot be computed; None where it can, or the run has its values."""
    if _is_stored(one, sample, settings):
        return None
    if one.beyond and not known.whole_pool:
        return NEEDS_POOL
    return NEEDS_HOLES if one.holes and known.holes is None else None


def _is_stored(one: Convention, sample: Sample, settings: Settings) -> bool:
    return settings.pool in one.own and one.column in sample.editorial_names


def _stored(one: Convention, sample: Sample) -> Floats:
    own: Floats = sample.editorial_values[:, sample.editorial_names.index(one.column)]
    return own


def _check_own(folder: Path, sample: Sample, known: _Known, reading: Reading, settings: Settings) -> None:
    """Refuse judgments under which the run's own metrics are others: their pool is not the run's."""
    for one in conventions(reading):
        if one.beyond and _is_stored(one, sample, settings):
            stored = _stored(one, sample)
            if not np.allclose(one.values(known.lists, reading), stored, rtol=0, atol=1e-9):
                raise _not_its(folder)
