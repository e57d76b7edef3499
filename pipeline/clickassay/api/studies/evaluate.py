"""From Python: metrics of rankings against judgments, and which ranking is better."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from clickassay.api.given import Names, Place, Table, Told, several, source_of
from clickassay.api.screen.parts import Part, on_screen
from clickassay.api.screen.progress import progress_of
from clickassay.api.screen.python import for_python
from clickassay.api.screen.result import Result
from clickassay.core.errors import SettingsError
from clickassay.core.settings import load_settings
from clickassay.core.settings.texts import items_of, labels_of
from clickassay.inputs.text.trec import Source
from clickassay.metrics.definition import Measure
from clickassay.metrics.lists import Lists
from clickassay.metrics.names import parse_measure
from clickassay.studies.evaluation.correcting.sampled import Design
from clickassay.studies.evaluation.evaluate import (
    DEFAULT_MEASURES,
    AverageOver,
    Conflicts,
    Evaluation,
    Measures,
)
from clickassay.studies.evaluation.evaluate import evaluate as evaluated

if TYPE_CHECKING:
    from clickassay.inputs.staging.sources import Source as InputSource


@for_python
def evaluate(  # noqa: PLR0913 - one parameter for each choice that changes a number
    qrels: Source,
    runs: Source | Mapping[str, Source],
    measures: Measures = DEFAULT_MEASURES,
    *,
    rel: int = 1,
    max_grade: int = 4,
    persistence: float = 0.8,
    average_over: AverageOver = "judged",
    bounds: bool = False,
    known: Source | None = None,
    expected: Source | None = None,
    judge: Source | None = None,
    plan: Place | None = None,
    queries: Table = None,
    by: Names = (),
    baseline: str | None = None,
    scale: Sequence[str] | str | Mapping[Any, Any] = (),
    seed: int = 0,
    conflicts: Conflicts = "error",
    strict: bool = False,
    progress: Told = False,
) -> "EvaluationResult":
    """Evaluate runs against judgments.

    Parameters
    ----------
    qrels
        Judgments: a TREC file, a Polars or pandas frame with columns query, doc, grade, or a dict
        ``{query: {doc: grade}}``.
    runs
        A run (a TREC file, a frame with columns query, doc, score, a dict ``{query: {doc: score}}``, or
        ``{query: [doc, ...]}``, best first), or a dict of them by name.
    measures
        Names in the grammar of ir_measures, or of trec_eval: ``"nDCG@10 ERR@10 AP(rel=2)"``; or a list of
        them, of `clickassay.measures` or text.
    rel
        Lowest grade that counts as relevant where a name has no ``rel``; 1 as in trec_eval.
    max_grade
        Top of the scale, for ERR and RBP where a name has no ``max_rel``; never taken from the data.
    persistence
        p of RBP where a name has no ``p``.
    average_over
        ``judged``: means are over all queries that have judgments, and a query that a run lacks counts as an
        empty list: 0 for most measures, as in ir_measures. ``both``: over the queries that have judgments and
        results, as in trec_eval.
    bounds
        Whether to compute the least and the largest value over every way to grade results without a grade.
    known, expected
        Documents that users know (query, doc), for Coverage and Novelty; number of relevant results that they
        expect (query, number), for RelativeRecall and RecallEffort.
    judge
        Judgments of more queries than `qrels`, by a model: their means are corrected by `qrels`, which people
        made, with intervals that hold if the queries of `qrels` are a random sample.
    plan
        Folder of the plan (`clickassay plan`) that chose the queries of `qrels`: they count by how likely
        they were to be drawn.
    queries, by
        A table with a column query and classes of queries, and its columns that are used (none = all that are
        classes): means and comparisons within classes.
    baseline
        Name of the run that each other one is compared with; None = every two.
    scale
        Labels in place of grades, the worst first; `max_grade` follows from them.
    seed
        Seed of the randomisation test.
    conflicts
        Rule for a document that is judged more than once for a query: ``error``, ``max``, ``mean-rounded``
        or ``latest``.
    strict
        Whether a run is refused if none of its results is named in the judgments; else there is a warning.
    progress
        As `run` takes it; none unless asked for, since it takes longer than most evaluations.

    Raises
    ------
    InputError, SettingsError, JudgmentError
        If an input, a name or a grade is not what it must be.
    NothingInCommonError
        If a run and the judgments share no query; with `strict`, also if they share no document of a query.

    Warns
    -----
    NothingInCommonWarning
        Without `strict`: if a run and the judgments share no document of a query.

    Examples
    --------
    >>> found = ca.evaluate({"q": {"a": 2, "b": 0}}, {"q": ["b", "a"]}, "RR nDCG@2")
    >>> found["RR"]
    0.5
    """
    labels = labels_of(scale) if isinstance(scale, Mapping) else items_of(scale, ",") if scale else ()
    with progress_of(progress) as told:
        found = evaluated(
            qrels, runs, measures,
            rel=rel, max_grade=max_grade, persistence=persistence, average_over=average_over, bounds=bounds,
            known=known, expected=expected, judge=judge, design=design_of(plan),
            classes=classes_of(source_of(queries), several(by)), baseline=baseline, scale=labels, seed=seed,
            conflicts=conflicts, strict=strict, progress=told,
        )  # fmt: skip
    return EvaluationResult(found, average_over)


def design_of(plan: Place | None) -> Design | None:
    """Return how a plan chose queries.

    Raises
    ------
    ActiveError
        If the folder is no plan.
    """
    if plan is None:
        return None
    from clickassay.studies.labelling.plan_folder import read_plan  # noqa: PLC0415 - few have one

    made = read_plan(Path(plan))
    weights = dict(made.queries.select("query", "weight").iter_rows())
    return Design(tuple(made.draws["query"]), made.draws["importance_weight"].to_numpy(), weights)


def classes_of(queries: "InputSource | None", by: Sequence[str]) -> pl.DataFrame | None:
    """Return classes of queries.

    Raises
    ------
    InputError, SettingsError
        If the table cannot be read, or lacks a column.
    """
    if queries is None:
        if by:
            raise SettingsError("--by: which class a query has is in a table; give it by --queries")
        return None
    from clickassay.correlation.classes import class_columns  # noqa: PLC0415 - few have them
    from clickassay.jobs.inputs import read_attributes  # noqa: PLC0415 - as above

    return class_columns(read_attributes(queries, load_settings()), by)


class EvaluationResult(Result):
    """The values of measures for runs; it prints their means, and which run is better.

    Parameters
    ----------
    evaluation
        The numbers.
    average_over
        The queries of the means.
    """

    def __init__(self, evaluation: Evaluation, average_over: Literal["judged", "both"] = "judged") -> None:
        self.evaluation, self.average_over = evaluation, average_over

    def __reduce__(self) -> tuple[Any, ...]:
        own = self.evaluation  # a measure is known by its name: its function is no data
        parts = {one.name: getattr(own, one.name) for one in fields(own) if one.name != "measures"}
        return _unpickled, (tuple(map(str, own.measures)), parts, self.average_over)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures, every parameter spelled out, in the order given."""
        return self.evaluation.measures

    @property
    def lists(self) -> Mapping[str, Lists]:
        """By run: its ranked lists with their grades."""
        return self.evaluation.lists

    @property
    def runs(self) -> pl.DataFrame:
        """A row for each run: numbers of queries and results."""
        return self.evaluation.runs

    @property
    def means(self) -> pl.DataFrame:
        """A row for each run and measure: the mean with its interval."""
        return self.evaluation.means

    @property
    def per_query(self) -> pl.DataFrame:
        """A row for each run, query and measure."""
        return self.evaluation.per_query

    @property
    def comparisons(self) -> pl.DataFrame:
        """A row for each two runs and measure: difference, interval, tests."""
        return self.evaluation.comparisons

    @property
    def leaderboard(self) -> pl.DataFrame:
        """A row for each measure and run, the best mean first, with its letters; of three runs or more."""
        return self.evaluation.leaderboard

    @property
    def class_means(self) -> pl.DataFrame:
        """A row for each class of queries, run and measure."""
        return self.evaluation.class_means

    @property
    def class_comparisons(self) -> pl.DataFrame:
        """A row for each class of queries, two runs and measure."""
        return self.evaluation.class_comparisons

    @property
    def corrected_means(self) -> pl.DataFrame:
        """A row for each run and measure: the mean of the judge, corrected by people."""
        return self.evaluation.corrected_means

    @property
    def corrected_comparisons(self) -> pl.DataFrame:
        """A row for each two runs and measure: the difference by the judge, corrected by people."""
        return self.evaluation.corrected_comparisons

    @property
    def cautions(self) -> tuple[str, ...]:
        """Sentences on what contradicts itself in the inputs, or is read otherwise by other tools."""
        return self.evaluation.cautions

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """The frames by their names."""
        return self.evaluation.frames

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The frames by their names."""
        return self.evaluation.frames

    def __getitem__(self, measure: str | Measure) -> float:
        """Return the mean of a measure, where there is one run."""
        return self.evaluation[measure]

    def parts(self) -> Iterator[Part]:
        """Yield conventions, means and comparisons."""
        from clickassay.studies.evaluation.conventions import conventions  # noqa: PLC0415 - for printing alone

        told = conventions(self.evaluation, average_over=self.average_over)
        cautions = " ".join(self.cautions)
        more = (("Caution", cautions),) if cautions else ()
        yield from evaluation_parts((*told, *more), self.frames, per_query=False)


def _unpickled(
    names: tuple[str, ...], parts: Mapping[str, Any], average_over: AverageOver
) -> EvaluationResult:
    return EvaluationResult(Evaluation(tuple(map(parse_measure, names)), **parts), average_over)


def evaluation_parts(
    conventions: tuple[tuple[str, str], ...], frames: Mapping[str, pl.DataFrame], *, per_query: bool
) -> Iterator[Part]:
    """Yield the definitions that numbers depend on, and the numbers."""
    from clickassay.studies.evaluation.report import evaluation_tables  # noqa: PLC0415 - as above

    yield from (f"{what}: {how}" for what, how in conventions)
    for table in evaluation_tables(dict(frames), per_query=per_query):
        yield from on_screen(table)
