"""The conventions of many tools, computed on the judged configurations of a finished run, as tables."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from clickassay.core.errors import NothingInCommonError, ReportError
from clickassay.core.files.scratch import with_scratch
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import ANY_SAMPLE, Floats, Sample, SampleChoice
from clickassay.core.settings import Settings
from clickassay.correlation.conventions import audit_tables, lists_of, scale_of, with_conventions
from clickassay.findings.arrays import GradedSample, configurations_of, graded_sample
from clickassay.findings.run import Run, run_at
from clickassay.health.overlap import Side, names_apart
from clickassay.inputs.sources.mapping import names_of
from clickassay.inputs.staging.made import Made
from clickassay.inputs.staging.sources import Source, staged
from clickassay.inputs.tables import WholeInput, read_input
from clickassay.inputs.types.columns import JUDGMENTS
from clickassay.judgments.join import judged_pool, rows_of_numbers
from clickassay.judgments.prepare import Judgments, prepare_judgments
from clickassay.metrics.catalogue import shown_pool
from clickassay.metrics.conventions import AuditScale, Convention, conventions
from clickassay.metrics.lists import NO_GRADE, Lists
from clickassay.patterns.lists import number_results

NEEDS_POOL = "needs judged results that no list shows: give --judgments"
NEEDS_UNJUDGED = "needs to know which results have no judgment: give --judgments"


@dataclass(frozen=True)
class Audit:
    """Conventions computed on the judged configurations of one market, depth and judge."""

    sample: Sample  # The configurations; their editorial metrics are the conventions that were computed.
    scale: AuditScale  # The cut and the scale.
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

    place: a run, or its folder.
    judgments: the judgments that the run was made with; None = only the grades of results shown, which a run
      keeps.
    wanted: which market, depth and judge; what it leaves open is chosen as in `Run.key`.

    Raises ReportError if there is no such run, it is broken, its grades were drawn from clicks, or
    `judgments` are others than those that it was made with; InputError, JudgmentError if `judgments` cannot
    be read.
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
    sample, known = graded.sample, _GradedLists.of_run(graded, settings)
    if judgments is not None:
        progress(Event("reading judgments"))
        known = _GradedLists.of_judgments(run, graded, judgments)
    progress(Event("computing conventions"))
    scale = scale_of(sample, settings)
    declared = conventions(scale)
    reasons = {one.measure: why for one in declared if (why := _reason(one, sample, known, settings))}
    columns = {
        one.measure: _stored(one, sample)
        if _is_stored(one, sample, settings)
        else one.values(known.lists, scale)
        for one in declared
        if one.measure not in reasons
    }
    if known.whole_pool:
        _check_own(run, sample, known, scale, settings)
    audited = with_conventions(sample, columns)
    tables = audit_tables(audited, declared, reasons, pool=settings.pool, progress=progress)
    return Audit(audited, scale, known.n_unjudged, *tables)


@dataclass(frozen=True)
class _GradedLists:
    """Lists with their grades; whether their pools are complete; the number of results without a judgment."""

    lists: Lists
    whole_pool: bool
    n_unjudged: int | None

    @classmethod
    def of_run(cls, graded: GradedSample, settings: Settings) -> "_GradedLists":
        n_unjudged = 0 if settings.unjudged != "zero" else None
        pool = shown_pool(graded.grades, settings.max_grade)
        return cls(lists_of(graded.sample.configuration_ids, graded.grades, pool), False, n_unjudged)

    @classmethod
    def of_judgments(cls, run: Run, graded: GradedSample, source: Source) -> "_GradedLists":
        key, settings = graded.sample.key, run.settings
        lists = configurations_of(run, key).select("market", "query", "results")
        names = names_of("judgments", settings.column)  # of the run: its judgments have these names
        made = staged("judgments", source, names)
        path = made.path if isinstance(made, Made) else made
        given = WholeInput.of(read_input("judgments", path, JUDGMENTS, names=names))
        queries = lists.select("market", "query").unique()
        judgments = prepare_judgments(given.rows, queries, settings, by_market=given.by_market)
        own, on = judgments.grades.filter(pl.col("judge") == key.judge), judgments.query_key
        query = lists.select(pl.struct("market", "query").rle_id().cast(pl.Int64)).to_series().to_numpy()
        results = number_results(lists["results"], query)
        rows = rows_of_numbers(lists, results, own, on)[results.top(key.depth)]
        grades = np.append(own["grade"].to_numpy().astype(np.int64), NO_GRADE)  # row -1: no judgment
        judged = grades[rows]
        there = judged != NO_GRADE
        if not there.any():
            raise _nothing_in_common(run, source, lists, given.rows, judgments)
        if (judged != graded.grades)[there].any() or (settings.unjudged != "zero" and not there.all()):
            raise _other_judgments(run)
        pool = judged_pool(lists, own.group_by(*on, "grade").len(), settings.max_grade)
        return cls(lists_of(graded.sample.configuration_ids, judged, pool), True, int((~there).sum()))


def _nothing_in_common(
    run: Run, source: Source, lists: pl.DataFrame, rows: pl.DataFrame, judgments: Judgments
) -> NothingInCommonError:
    """Return an error with one name of each side; where they meet, it is the judge that does not."""
    key, theirs = judgments.query_key, judgments.grades
    if theirs.is_empty():  # no query is in both: they are named as they were read
        theirs = rows.select("market", "query", "url").drop_nulls()
    ours = lists.explode("results").select(*key, text="results")
    apart = names_apart(
        Side("the run has", ours), Side("judgments have", theirs.select(*key, text="url")), key
    )
    return NothingInCommonError(
        f"{source}: no result of {run.called} has a grade: {apart}; give its judgments"
    )


def _other_judgments(run: Run) -> ReportError:
    return ReportError(
        f"--judgments are not those that {run.called} was made with: its grades or metrics differ"
    )


def _reason(one: Convention, sample: Sample, known: _GradedLists, settings: Settings) -> str | None:
    """Return why a convention cannot be computed; None where it can, or where the run has its values."""
    if _is_stored(one, sample, settings):
        return None
    if one.needs_pool and not known.whole_pool:
        return NEEDS_POOL
    return NEEDS_UNJUDGED if one.needs_unjudged and known.n_unjudged is None else None


def _is_stored(one: Convention, sample: Sample, settings: Settings) -> bool:
    return settings.pool in one.own and one.column in sample.editorial_names


def _stored(one: Convention, sample: Sample) -> Floats:
    own: Floats = sample.editorial_values[:, sample.editorial_names.index(one.column)]
    return own


def _check_own(run: Run, sample: Sample, known: _GradedLists, scale: AuditScale, settings: Settings) -> None:
    """Refuse judgments under which the run's own metrics differ: their pool is another one."""
    for one in conventions(scale):
        if one.needs_pool and _is_stored(one, sample, settings):
            stored = _stored(one, sample)
            if not np.allclose(one.values(known.lists, scale), stored, rtol=0, atol=1e-9):
                raise _other_judgments(run)
