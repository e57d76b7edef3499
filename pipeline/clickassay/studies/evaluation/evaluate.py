"""`evaluate`: judgments and runs in, values by query, means with intervals and comparisons out."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from clickassay.core.errors import InputError, SettingsError
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import Floats
from clickassay.core.settings import Settings, load_settings
from clickassay.inputs.trec import Source, plain_dict, read_numbers, read_pairs, read_qrels, read_run
from clickassay.metrics.definition import Measure
from clickassay.metrics.names import parse_measure, parse_measures, spelled_out
from clickassay.studies.evaluation.compare import comparison_table, mean_with_interval
from clickassay.studies.evaluation.forms import COMPARISONS, MEANS, PER_QUERY, RUNS, in_form
from clickassay.studies.evaluation.lists import Lists, lists_of_dicts, ranked_lists
from clickassay.studies.evaluation.values import measure_bounds, measure_values

_Grades = pl.DataFrame | Mapping[str, Mapping[str, Any]]
Queries = Literal["judged", "both"]
Measures = str | Measure | Iterable[object]

DEFAULT_MEASURES = "nDCG@10 ERR@10 AP RR P@10"


@dataclass(frozen=True)
class Evaluation:
    """What measures say of runs.

    Attributes
    ----------
    measures
        The measures, every parameter spelled out, in the order asked for.
    lists
        By run: its ranked lists with their grades.
    runs, means, per_query, comparisons
        Polars frames in the forms of `studies.evaluation.forms`.
    """

    measures: tuple[Measure, ...]
    lists: Mapping[str, Lists]
    runs: pl.DataFrame
    means: pl.DataFrame
    per_query: pl.DataFrame
    comparisons: pl.DataFrame

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """The frames by the names of their forms."""
        names = ("runs", "means", "per_query", "comparisons")
        return {name: getattr(self, name) for name in names}

    def __getitem__(self, measure: str | Measure) -> float:
        """Return the mean of a measure, when there is one run."""
        if len(self.lists) != 1:
            raise SettingsError(
                f"there are {len(self.lists)} runs; look into .means, which has a row for each"
            )
        wanted = str(_known(self.measures, measure))
        return float(self.means.filter(pl.col("measure") == wanted)["mean"].item())


def _known(measures: tuple[Measure, ...], asked: str | Measure) -> Measure:
    measure = parse_measure(str(asked))
    for known in measures:
        if known == measure or (
            set(measure.arguments) <= set(known.arguments)
            and ((known.metric, known.depth, known.rules) == (measure.metric, measure.depth, measure.rules))
        ):
            return known
    raise SettingsError(f"measure {asked} was not computed; there are {', '.join(map(str, measures))}")


def evaluate(  # noqa: PLR0913 - one parameter for each choice that changes a number
    qrels: Source,
    runs: Source | Mapping[str, Source],
    measures: Measures = DEFAULT_MEASURES,
    *,
    relevant_grade: int = 1,
    max_grade: int = 4,
    persistence: float = 0.8,
    queries: Queries = "judged",
    bounds: bool = False,
    known: Source | None = None,
    expected: Source | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Evaluation:
    """Evaluate runs against judgments.

    Parameters
    ----------
    qrels
        Judgments: a TREC file, a Polars or pandas frame with columns query, doc, grade, or a dict
        ``{query: {doc: grade}}``.
    runs
        A run (a TREC file, a frame with columns query, doc, score, or a dict), or a dict of them by name.
    measures
        Names in the grammar of ir_measures, or of trec_eval: ``"nDCG@10 ERR@10 AP(rel=2)"``; or a list of
        them, of `clickassay.measures` or text.
    relevant_grade
        Lowest grade that counts as relevant where a name does not say so by ``rel``; 1 as in trec_eval.
    max_grade
        Top of the scale, for ERR and RBP where a name does not say so; never read off the data.
    persistence
        p of RBP where a name does not say so.
    queries
        ``judged``: means are over all queries that have judgments, and a query that a run lacks is 0 (for
        measures of which more is better), as in ir_measures. ``both``: over the judged queries that the run
        has, as in trec_eval.
    bounds
        Whether to give the worst and the best case over results without a grade.
    known, expected
        What users know (query, doc) and how many relevant results they expect (query, number): for Coverage
        and Novelty, RelativeRecall and RecallEffort.
    seed
        Of the randomisation test.

    Raises
    ------
    InputError, SettingsError, JudgmentError
        If an input, a name or a grade is not what it must be.
    """
    if queries not in get_args(Queries):
        raise SettingsError(f"queries is {queries!r}, expected 'judged' or 'both'")
    settings = _settings(relevant_grade, max_grade, persistence)
    asked = tuple(dict.fromkeys(spelled_out(measure, settings) for measure in _asked(measures)))
    told = _Told(
        None if known is None else read_pairs(known), None if expected is None else read_numbers(expected)
    )
    wish = _Wish(asked, settings, queries, bounds, told)
    progress(Event("reading judgments and runs"))
    grades, given = _read(qrels, _by_name(runs), told)
    parts = {}
    for place, (name, run) in enumerate(given.items()):
        progress(Event(f"evaluating {name}", place / len(given)))
        parts[name] = _Part.of(run, grades, wish)
    _refuse_different_queries(parts)
    values = {name: part.values for name, part in parts.items()}
    names = tuple(map(str, asked))
    return Evaluation(
        asked,
        {name: part.lists for name, part in parts.items()},
        pl.concat([part.run_row(name) for name, part in parts.items()]),
        pl.concat([part.means(name, asked) for name, part in parts.items()]),
        pl.concat([part.per_query(name, names) for name, part in parts.items()]),
        in_form(COMPARISONS, comparison_table(names, values, seed=seed)),
    )


def _settings(relevant_grade: int, max_grade: int, persistence: float) -> Settings:
    return load_settings(
        relevant_grade=relevant_grade, success_grade=1, max_grade=max_grade, persistence=persistence
    )


def _asked(measures: Measures) -> tuple[Measure, ...]:
    if isinstance(measures, str):
        return parse_measures(measures)
    if isinstance(measures, Measure):
        return (measures,)
    if isinstance(measures, Iterable):
        return tuple(one if isinstance(one, Measure) else parse_measure(str(one)) for one in measures)
    return (parse_measure(str(measures)),)


def _by_name(runs: Source | Mapping[str, Source]) -> dict[str, Source]:
    """Return runs by name; a dict ``{query: {doc: score}}`` is a run, others hold runs."""
    if isinstance(runs, Mapping):
        if not runs:
            raise InputError("no run is given; give a run, or a dict of runs by name")
        first = next(iter(runs.values()))
        if not isinstance(first, Mapping) or any(isinstance(one, Mapping) for one in first.values()):
            return dict(runs)
    return {_name(runs): runs}


def _read(qrels: Source, runs: Mapping[str, Source], told: "_Told") -> tuple[_Grades, Mapping[str, _Grades]]:
    """Return judgments and runs as dicts where all are, which spares making tables, else as tables."""
    plain = plain_dict(qrels, int)
    plain_runs = {name: plain_dict(run, float) for name, run in runs.items()}
    if plain is not None and told.known is None and told.expected is None and None not in plain_runs.values():
        return plain, {name: run for name, run in plain_runs.items() if run is not None}
    return read_qrels(qrels), {name: read_run(run) for name, run in runs.items()}


def _name(run: Source) -> str:
    return Path(run).stem if isinstance(run, str | Path) else "run"


@dataclass(frozen=True)
class _Told:
    known: pl.DataFrame | None
    expected: pl.DataFrame | None


@dataclass(frozen=True)
class _Wish:
    measures: tuple[Measure, ...]
    settings: Settings
    queries: Queries
    bounds: bool
    told: _Told


@dataclass(frozen=True)
class _Part:
    """What is computed of one run: (Q, E) values, and their bounds."""

    lists: Lists
    values: Floats
    low: Floats | None
    high: Floats | None
    missing: int
    unjudged: int
    judged: int

    @classmethod
    def of(cls, run: _Grades, grades: _Grades, wish: _Wish) -> "_Part":
        judged, there = _queries(grades), _queries(run)
        if not judged & there:
            raise InputError(_no_query_in_both(judged, there))
        taken = judged if wish.queries == "judged" else judged & there
        lists = _ranked(run, grades, tuple(sorted(taken)))
        if isinstance(run, pl.DataFrame) and isinstance(grades, pl.DataFrame):
            lists = _with_told(lists, run, grades, wish)
        low = high = None
        if wish.bounds:
            found = [measure_bounds(measure, lists, wish.settings) for measure in wish.measures]
            low, high = (np.column_stack([getattr(one, end) for one in found]) for end in ("low", "high"))
        values = np.column_stack([measure_values(measure, lists, wish.settings) for measure in wish.measures])
        return cls(lists, values, low, high, len(judged - there), len(there - judged), len(judged))

    def run_row(self, name: str) -> pl.DataFrame:
        row = {
            "run": name,
            "queries_judged": self.judged,
            "queries_averaged": len(self.lists.queries),
            "queries_missing": self.missing,
            "queries_unjudged": self.unjudged,
            "results": len(self.lists.grades),
            "results_judged": int((self.lists.grades >= 0).sum()),
        }
        return in_form(RUNS, pl.DataFrame([row]))

    def means(self, name: str, measures: tuple[Measure, ...]) -> pl.DataFrame:
        ends_of_range = np.array([(one.metric.low, one.metric.high) for one in measures], dtype=np.float64)
        mean, low, high = mean_with_interval(self.values, *ends_of_range.T)
        frame = pl.DataFrame(
            {"measure": list(map(str, measures)), "mean": mean, "ci_low": low, "ci_high": high}
        )
        bounds = self.bounds(lambda values: values.mean(axis=0))
        frame = frame.with_columns(run=pl.lit(name), n_queries=len(self.values), **bounds)
        return in_form(MEANS, frame.with_columns(pl.col(pl.Float64).fill_nan(None)))

    def per_query(self, name: str, names: tuple[str, ...]) -> pl.DataFrame:
        number = len(names)
        frame = pl.DataFrame(
            {
                "query": np.repeat(np.array(self.lists.queries, dtype=object), number),
                "measure": list(names) * len(self.lists.queries),
                "value": self.values.ravel(),
            },
            schema_overrides={"query": pl.String},
        ).with_columns(run=pl.lit(name), **self.bounds(np.ravel))
        return in_form(PER_QUERY, frame)

    def bounds(self, each: Callable[[Floats], Floats]) -> dict[str, pl.Expr | pl.Series]:
        """Return the columns of the bounds, as `each` makes them of (Q, E) values; null without bounds."""
        ends = {"low": self.low, "high": self.high}
        return {
            end: pl.lit(None) if values is None else pl.Series(each(values)) for end, values in ends.items()
        }


def _no_query_in_both(judged: set[str], there: set[str]) -> str:
    return (
        f"the run and the judgments have no query in common: judgments have {_few(judged)}, the run has "
        f"{_few(there)}; give files whose queries are named alike"
    )


def _few(names: set[str]) -> str:
    shown = ", ".join(map(repr, sorted(names)[:3])) or "none"
    return f"{shown}{', …' if len(names) > 3 else ''}"


def _queries(table: _Grades) -> set[str]:
    return set(table["query"].unique()) if isinstance(table, pl.DataFrame) else set(table)


def _ranked(run: _Grades, grades: _Grades, queries: tuple[str, ...]) -> Lists:
    if isinstance(run, pl.DataFrame) and isinstance(grades, pl.DataFrame):
        top = max(1, int(str(grades["grade"].max())))
        return ranked_lists(run, grades, queries, max_grade=top)
    assert not isinstance(run, pl.DataFrame)  # noqa: S101 - `_read` gives both as dicts or both as tables
    assert not isinstance(grades, pl.DataFrame)  # noqa: S101
    top = max(1, *(max(judged.values(), default=0) for judged in grades.values()))
    return lists_of_dicts(run, grades, queries, max_grade=int(top))


def _with_told(lists: Lists, run: pl.DataFrame, grades: pl.DataFrame, wish: _Wish) -> Lists:
    told = wish.told
    numbers = pl.DataFrame({"query": lists.queries}, schema={"query": pl.String}).with_row_index("q")
    if told.expected is not None:
        counts = numbers.join(told.expected, on="query", how="left", maintain_order="left")
        lists = replace(lists, expected=counts["number"].fill_null(0).to_numpy())
    if told.known is not None:
        marks = told.known.with_columns(grade=pl.lit(1, dtype=pl.Int16))
        known = ranked_lists(run, marks, lists.queries, max_grade=1).grades == 1
        judged = grades.join(told.known, on=["query", "doc"], how="semi").join(numbers, on="query")
        counted = {
            rel: np.bincount(judged.filter(pl.col("grade") >= rel)["q"].to_numpy(), minlength=numbers.height)
            for rel in {int(str(dict(one.arguments).get("rel", 1))) for one in wish.measures}
        }
        lists = replace(lists, known=known, known_relevant=counted)
    return lists


def _refuse_different_queries(parts: Mapping[str, _Part]) -> None:
    """Refuse to compare runs over different queries: it can only happen when they are not all judged ones."""
    (first, one), *others = parts.items()
    for name, part in others:
        if part.lists.queries != one.lists.queries:
            raise InputError(
                f"runs {first} and {name} answer different queries ({len(one.lists.queries)} and "
                f"{len(part.lists.queries)} judged ones); compare them over all judged queries"
            )
