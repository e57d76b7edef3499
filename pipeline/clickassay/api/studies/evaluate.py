"""From Python: metrics of rankings against judgments, and which ranking is better."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from clickassay.api.given import Place
from clickassay.api.screen.parts import Part, on_screen
from clickassay.api.screen.result import Result, attribute_of
from clickassay.core.errors import SettingsError
from clickassay.core.settings import load_settings
from clickassay.metrics.definition import Measure
from clickassay.metrics.lists import Lists
from clickassay.metrics.names import parse_measure
from clickassay.studies.evaluation.corrected import Design
from clickassay.studies.evaluation.evaluate import AverageOver, Evaluation

if TYPE_CHECKING:
    from clickassay.inputs.staging.sources import Source as InputSource


def design_of(plan: Place | None) -> Design | None:
    """Return how a plan chose queries; ActiveError if the folder is no plan."""
    if plan is None:
        return None
    from clickassay.studies.labelling.plan_folder import read_plan  # noqa: PLC0415 - few have one

    made = read_plan(Path(plan))
    weights = dict(made.queries.select("query", "weight").iter_rows())
    return Design(tuple(made.draws["query"]), made.draws["importance_weight"].to_numpy(), weights)


def classes_of(queries: "InputSource | None", by: Sequence[str]) -> pl.DataFrame | None:
    """Return classes of queries; raises if the table cannot be read, or lacks a column."""
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

    measures: tuple[Measure, ...] = attribute_of(
        "evaluation.measures", "The measures, every parameter spelled out, in the order given."
    )
    lists: Mapping[str, Lists] = attribute_of(
        "evaluation.lists", "By run: its ranked lists with their grades."
    )
    runs: pl.DataFrame = attribute_of(
        "evaluation.runs", "A row for each run: numbers of queries and results."
    )
    means: pl.DataFrame = attribute_of(
        "evaluation.means", "A row for each run and measure: the mean with its interval."
    )
    per_query: pl.DataFrame = attribute_of("evaluation.per_query", "A row for each run, query and measure.")
    comparisons: pl.DataFrame = attribute_of(
        "evaluation.comparisons", "A row for each two runs and measure: difference, interval, tests."
    )
    leaderboard: pl.DataFrame = attribute_of(
        "evaluation.leaderboard",
        "A row for each measure and run, the best mean first, with its letters; of three runs or more.",
    )
    class_means: pl.DataFrame = attribute_of(
        "evaluation.class_means", "A row for each class of queries, run and measure."
    )
    class_comparisons: pl.DataFrame = attribute_of(
        "evaluation.class_comparisons", "A row for each class of queries, two runs and measure."
    )
    corrected_means: pl.DataFrame = attribute_of(
        "evaluation.corrected_means",
        "A row for each run and measure: the mean of the judge, corrected by people.",
    )
    corrected_comparisons: pl.DataFrame = attribute_of(
        "evaluation.corrected_comparisons",
        "A row for each two runs and measure: the difference by the judge, corrected by people.",
    )
    cautions: tuple[str, ...] = attribute_of(
        "evaluation.cautions",
        "Sentences on what contradicts itself in the inputs, or is read otherwise by other tools.",
    )
    frames: dict[str, pl.DataFrame] = attribute_of("evaluation.frames", "The frames by their names.")
    tables: Mapping[str, pl.DataFrame] = attribute_of("evaluation.frames", "The frames by their names.")

    def __getitem__(self, measure: str | Measure) -> float:
        """Return the mean of a measure, where there is one run."""
        return self.evaluation[measure]

    @property
    def answer(self) -> str:
        """Which ranking is better, or the mean of the only one; without a full stop."""
        from clickassay.studies.evaluation.report import answer  # noqa: PLC0415 - for printing alone

        return answer(self.evaluation)

    def parts(self) -> Iterator[Part]:
        """Yield the answer, means and comparisons, conventions."""
        from clickassay.studies.evaluation.conventions import conventions  # noqa: PLC0415 - for printing alone

        told = conventions(self.evaluation, average_over=self.average_over)
        cautions = " ".join(self.cautions)
        more = (("Caution", cautions),) if cautions else ()
        yield from evaluation_parts(self.evaluation, (*more, *told), per_query=False)


def _unpickled(
    names: tuple[str, ...], parts: Mapping[str, Any], average_over: AverageOver
) -> EvaluationResult:
    return EvaluationResult(Evaluation(tuple(map(parse_measure, names)), **parts), average_over)


def evaluation_parts(
    evaluation: Evaluation, conventions: tuple[tuple[str, str], ...], *, per_query: bool
) -> Iterator[Part]:
    """Yield the answer, the numbers, and the definitions that these depend on."""
    from clickassay.studies.evaluation.report import answer, evaluation_tables  # noqa: PLC0415 - as above

    yield f"{answer(evaluation)}."
    for table in evaluation_tables(evaluation.frames, per_query=per_query):
        yield from on_screen(table)
    yield from (f"{what}: {how}" for what, how in conventions)
