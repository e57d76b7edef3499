"""`evaluate`: from judgments and runs to values by query, means with intervals, and comparisons."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal
from warnings import warn

import numpy as np
import polars as pl

from clickassay.core.errors import InputError, NothingInCommonError, NothingInCommonWarning, SettingsError
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import Floats
from clickassay.core.settings import Settings, load_settings
from clickassay.health.overlap import rank_findings
from clickassay.inputs.frames import is_list, query_columns
from clickassay.inputs.text.trec import Source, plain_dict, read_numbers, read_pairs, read_qrels, read_run
from clickassay.metrics.definition import Measure
from clickassay.metrics.lists import Lists, measure_values
from clickassay.metrics.names import parse_measure, parse_measures, spell_out
from clickassay.studies.evaluation import comparing, forms
from clickassay.studies.evaluation import lists as joined
from clickassay.studies.evaluation.bounds import measure_bounds
from clickassay.studies.evaluation.corrected import CorrectedTables, Design, corrected_tables

_Grades = pl.DataFrame | Mapping[str, Mapping[str, Any]]
AverageOver = Literal["judged", "both"]
Conflicts = Literal["error", "max", "mean-rounded", "latest"]
Measures = str | Measure | Iterable[object]

DEFAULT_MEASURES = "nDCG@10 ERR@10 AP RR P@10"


@dataclass(frozen=True)
class Evaluation:
    """The values of measures for runs."""

    measures: tuple[Measure, ...]  # The measures, every parameter spelled out, in the order given.
    lists: Mapping[str, Lists]  # By run: its ranked lists with their grades.
    # runs, means, per_query, comparisons: Polars frames in the forms of `studies.evaluation.forms`.
    runs: pl.DataFrame
    means: pl.DataFrame
    per_query: pl.DataFrame
    comparisons: pl.DataFrame
    # corrected_means, corrected_comparisons: The same by a judge of more queries, corrected by the judgments;
    # without rows where none was given.
    corrected_means: pl.DataFrame = field(default_factory=forms.CORRECTED_MEANS.empty)
    corrected_comparisons: pl.DataFrame = field(default_factory=forms.CORRECTED_COMPARISONS.empty)
    # Runs in the order of their means; without rows where there are fewer than three, or a baseline.
    leaderboard: pl.DataFrame = field(default_factory=forms.LEADERBOARD.empty)
    # class_means, class_comparisons: Means and comparisons within classes of queries; without rows where no
    # classes were given.
    class_means: pl.DataFrame = field(default_factory=forms.CLASS_MEANS.empty)
    class_comparisons: pl.DataFrame = field(default_factory=forms.CLASS_COMPARISONS.empty)
    # Sentences on what contradicts itself in the inputs, or is read otherwise by other tools.
    cautions: tuple[str, ...] = ()
    planned: bool = False  # Whether a plan drew the queries of the judgments that the judge is corrected by.

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """The frames by the names of their forms."""
        names = ("runs", "means", "per_query", "comparisons", *(table.name for table in forms.ASKED))
        return {name: getattr(self, name) for name in names}

    def __getitem__(self, measure: str | Measure) -> float:
        """Return the mean of a measure, where there is one run."""
        if len(self.lists) != 1:
            raise SettingsError(f"there are {len(self.lists)} runs; read .means, which has a row for each")
        named = parse_measure(str(measure))  # it may leave parameters out
        for one in self.measures:
            if one == named or (
                set(named.arguments) <= set(one.arguments)
                and ((one.metric, one.depth, one.rules) == (named.metric, named.depth, named.rules))
            ):
                return float(self.means.filter(pl.col("measure") == str(one))["mean"].item())
        known = ", ".join(map(str, self.measures))
        raise SettingsError(f"measure {measure} was not computed; there are {known}")


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
    design: Design | None = None,
    classes: pl.DataFrame | None = None,
    baseline: str | None = None,
    scale: Sequence[str] = (),
    seed: int = 0,
    conflicts: Conflicts = "error",
    strict: bool = False,
    progress: Progress = silent,
) -> Evaluation:
    """Evaluate runs against judgments; `api.studies.evaluate` says what the parameters are.

    Raises InputError, SettingsError, JudgmentError if an input, a name or a grade is wrong;
    NothingInCommonError if a run and the judgments share no query, or with `strict` no document of a query,
    of which a NothingInCommonWarning warns otherwise.
    """
    top = {"scale": ",".join(scale)} if scale else {"max_grade": max_grade}
    settings = load_settings(relevant_grade=rel, success_grade=1, persistence=persistence, **top)
    parsed = tuple(dict.fromkeys(spell_out(measure, settings) for measure in _parse(measures)))
    known_pairs = None if known is None else read_pairs(known)
    numbers = None if expected is None else read_numbers(expected)
    options = _Options(parsed, settings, average_over, bounds, known_pairs, numbers)
    progress(Event("reading judgments and runs"))
    sources, counts = _by_name(runs), dict[str, int]()
    judged = partial(read_qrels, conflicts=conflicts, scale=settings.scale)
    may_be_dicts = judge is None and known is None and expected is None
    grades, read = _read(qrels, sources, partial(judged, counts=counts), progress, may_be_dicts=may_be_dicts)
    of_judge = dict[str, int]()
    more = None if judge is None else judged(judge, counts=of_judge)
    parts, cautions = {}, list(joined.judgment_cautions(counts, conflicts))
    cautions += joined.judgment_cautions(of_judge, conflicts, " by the judge")
    for place, (name, run) in enumerate(read.items()):
        progress(Event(f"evaluating {name}", place / len(read)))
        file = _file_name(sources[name]) or name
        parts[name] = _RunValues.of((file, run), grades, options)
        cautions += _finding(parts[name].apart, strict=strict)
        if isinstance(run, pl.DataFrame):
            cautions += rank_findings(file, run, decides="score")
        cautions += joined.precision_caution(file, parts[name].lists, parsed, settings)
    joined.refuse_different_queries({name: part.lists.queries for name, part in parts.items()})
    if design is not None and more is None:
        raise SettingsError("--plan: it says which queries people judged of a judge's; give --judge")
    corrected = _corrected(parts, read, (more, design), (options, baseline, strict))
    values, names = {name: part.values for name, part in parts.items()}, tuple(map(str, parsed))
    means = pl.concat([part.means(name, parsed) for name, part in parts.items()])
    compared = comparing.comparison_table(names, values, seed=seed, baseline=baseline)
    in_classes = (forms.CLASS_MEANS.empty(), forms.CLASS_COMPARISONS.empty())
    if classes is not None:
        queries = next(iter(parts.values())).lists.queries
        in_classes = comparing.by_class(parsed, values, queries, classes, baseline=baseline)
    return Evaluation(
        parsed,
        {name: part.lists for name, part in parts.items()},
        forms.in_form(
            forms.RUNS, pl.DataFrame([{"run": name} | part.counts for name, part in parts.items()])
        ),
        means,
        pl.concat([part.per_query(name, names) for name, part in parts.items()]),
        compared,
        *corrected[:2],
        forms.LEADERBOARD.empty() if baseline else comparing.leaderboard(parsed, means, compared),
        *in_classes,
        cautions=(*cautions, *corrected[2]),
        planned=design is not None,
    )


def _corrected(
    parts: Mapping[str, "_RunValues"],
    runs: Mapping[str, _Grades],
    judged: tuple[pl.DataFrame | None, Design | None],
    how: tuple["_Options", str | None, bool],
) -> CorrectedTables:
    """Return what a judge of more queries says of the runs, corrected by the judgments.

    `judged` are the judgments of the judge, and how a plan chose people's queries; `how` are the options, the
    baseline, and whether a judge of other documents is refused.
    """
    judge, design = judged
    if judge is None:
        return forms.CORRECTED_MEANS.empty(), forms.CORRECTED_COMPARISONS.empty(), ()
    options, baseline, strict = replace(how[0], bounds=False, judgments="the judgments by --judge"), *how[1:]
    by_judge = {name: _RunValues.of((name, run), judge, options) for name, run in runs.items()}
    joined.refuse_different_queries({name: part.lists.queries for name, part in by_judge.items()})
    apart = tuple(line for part in by_judge.values() for line in _finding(part.apart, strict=strict))
    ours, theirs = (
        {name: (one.lists, one.values) for name, one in side.items()} for side in (by_judge, parts)
    )
    means, compared, cautions = corrected_tables(options.measures, ours, theirs, baseline, design)
    return means, compared, (*apart, *cautions)


def _parse(measures: Measures) -> tuple[Measure, ...]:
    if isinstance(measures, str):
        return parse_measures(measures)
    if isinstance(measures, Measure):
        return (measures,)
    if isinstance(measures, Iterable):
        return tuple(one if isinstance(one, Measure) else parse_measure(str(one)) for one in measures)
    return (parse_measure(str(measures)),)


def _by_name(runs: Source | Mapping[str, Source]) -> dict[str, Source]:
    """Return runs by name: a dict of scores or lists by query is a run, another holds runs."""
    if isinstance(runs, Mapping):
        if not runs:
            raise InputError("no run is given; give a run, or a dict of runs by name")
        first = next(iter(runs.values()))
        is_run = is_list(first) or (
            isinstance(first, Mapping)
            and not any(isinstance(one, Mapping) or is_list(one) for one in first.values())
        )
        if not is_run:
            return dict(runs)
    if isinstance(runs, list | tuple) and not any(
        isinstance(one, Mapping) and "query" in one for one in runs
    ):
        files = [str(one) if isinstance(one, str | Path) else "" for one in runs]
        stems = [Path(file).stem for file in files]
        names = stems if len(set(stems)) == len(stems) and all(files) else files if all(files) else None
        return dict(zip(names or (f"run {number}" for number in range(1, len(runs) + 1)), runs, strict=True))
    return {Path(runs).stem if isinstance(runs, str | Path) else "run": runs}


def _read(
    qrels: Source,
    runs: Mapping[str, Source],
    judged: Callable[..., pl.DataFrame],
    progress: Progress,
    *,
    may_be_dicts: bool,
) -> tuple[_Grades, Mapping[str, _Grades]]:
    """Return judgments and runs as dicts where all are, which spares making tables, else as tables.

    Tables that have texts and ids of queries are read by the texts, and by the ids where nothing else has a
    query in common.
    """
    plain = plain_dict(qrels, int)
    plain_runs = {name: plain_dict(run, float) for name, run in runs.items()}
    if may_be_dicts and plain is not None and None not in plain_runs.values():
        return plain, {name: run for name, run in plain_runs.items() if run is not None}
    readings = []
    for ids in (False, True):
        grades = judged(qrels, ids=ids)
        read = {name: _sharing(run, grades) for name, run in runs.items()}
        if all(kind is not None for _, kind in read.values()):
            by_ids = {name: runs[name] for name, (_, kind) in read.items() if kind == "ids"}
            for name, source in {**({"the judgments": qrels} if ids else {}), **by_ids}.items():
                text, named = query_columns(source)
                progress(
                    Event(f"{name}: queries by column {named}, not {text}, as on the other side", note=True)
                )
            return grades, {name: run for name, (run, _) in read.items()}
        readings.append((grades, read))
        if len(query_columns(qrels)) < 2:
            break
    grades, read = readings[0]
    for name, (run, _) in read.items():
        called = (_file_name(runs[name]) or name) + _by_columns(runs[name])
        joined.check_queries(
            called, set(run["query"]), set(grades["query"]), f"the judgments{_by_columns(qrels)}"
        )
    return grades, {name: run for name, (run, _) in read.items()}


def _sharing(run: Source, grades: pl.DataFrame) -> tuple[pl.DataFrame, str | None]:
    """Return a run, and whether its texts or else its ids of queries are judged; None if neither are."""
    judged = grades["query"].unique().implode()
    by_text = read_run(run, ranks=True)
    if by_text["query"].is_in(judged).any():
        return by_text, "texts"
    by_id = read_run(run, ranks=True, ids=True) if len(query_columns(run)) > 1 else by_text
    return (by_id, "ids") if by_id["query"].is_in(judged).any() else (by_text, None)


def _by_columns(source: Source) -> str:
    columns = query_columns(source)
    return f" (queries by column {' or '.join(columns)})" if columns else ""


def _file_name(run: Source) -> str | None:
    return Path(run).name if isinstance(run, str | Path) else None


def _finding(apart: tuple[str, ...], *, strict: bool) -> tuple[str, ...]:
    for sentence in apart:
        if strict:
            raise NothingInCommonError(sentence)
        frame, level = inspect.currentframe(), 1  # the warning is about the first line outside this package
        while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("clickassay."):
            frame, level = frame.f_back, level + 1
        warn(sentence, NothingInCommonWarning, stacklevel=level)
    return apart


@dataclass(frozen=True)
class _Options:
    measures: tuple[Measure, ...]
    settings: Settings
    average_over: AverageOver
    bounds: bool
    known: pl.DataFrame | None  # What users knew before, and how many results they expected.
    expected: pl.DataFrame | None
    judgments: str = "the judgments"


@dataclass(frozen=True)
class _RunValues:
    """One run: its (Q, E) values with their bounds, and counts of queries."""

    lists: Lists
    values: Floats
    low: Floats | None
    high: Floats | None
    counts: dict[str, Any]
    apart: tuple[str, ...]

    @classmethod
    def of(cls, named: tuple[str, _Grades], grades: _Grades, options: _Options) -> "_RunValues":
        name, run = named
        judged, there = _queries(grades), _queries(run)
        joined.check_queries(name, there, judged, options.judgments)
        taken = judged if options.average_over == "judged" else judged & there
        queries = tuple(sorted(taken))
        if isinstance(run, pl.DataFrame) and isinstance(grades, pl.DataFrame):
            top = max(1, int(str(grades["grade"].max())))
            shown = joined.ranked_lists(run, grades, queries, max_grade=top)
            lists = _with_user_knowledge(shown, run, grades, options)
        else:
            assert not isinstance(run, pl.DataFrame)  # noqa: S101 - `_read` gives both as dicts, or as tables
            assert not isinstance(grades, pl.DataFrame)  # noqa: S101
            top = max(1, *(max(judged_of.values(), default=0) for judged_of in grades.values()))
            lists = joined.lists_of_dicts(run, grades, queries, max_grade=int(top))
        apart = tuple(joined.documents_apart(named, grades, lists, options.judgments))
        low = high = None
        if options.bounds:
            bounds = [measure_bounds(measure, lists, options.settings) for measure in options.measures]
            low, high = (np.column_stack([getattr(one, end) for one in bounds]) for end in ("low", "high"))
        values = np.column_stack(
            [measure_values(measure, lists, options.settings) for measure in options.measures]
        )
        counts = {
            "queries_judged": len(judged),
            "queries_averaged": len(queries),
            "queries_missing": len(judged - there),
            "queries_unjudged": len(there - judged),
            "results": len(lists.grades),
            "results_judged": int((lists.grades >= 0).sum()),
        }
        return cls(lists, values, low, high, counts, apart)

    def means(self, name: str, measures: tuple[Measure, ...]) -> pl.DataFrame:
        ends_of_range = np.array([(one.metric.low, one.metric.high) for one in measures], dtype=np.float64)
        mean, low, high = comparing.mean_with_interval(self.values, *ends_of_range.T)
        columns = {"measure": list(map(str, measures)), "mean": mean, "ci_low": low, "ci_high": high}
        columns |= self.bounds(lambda values: values.mean(axis=0))
        return comparing.rows_of(forms.MEANS, columns, run=name, n_queries=len(self.values))

    def per_query(self, name: str, names: tuple[str, ...]) -> pl.DataFrame:
        columns = {
            "query": np.repeat(np.array(self.lists.queries, dtype=object), len(names)),
            "measure": list(names) * len(self.lists.queries),
            "value": self.values.ravel(),
        }
        frame = pl.DataFrame(columns | self.bounds(np.ravel), schema_overrides={"query": pl.String})
        return forms.in_form(forms.PER_QUERY, frame.with_columns(run=pl.lit(name)))

    def bounds(self, each: Callable[[Floats], Floats]) -> dict[str, Any]:
        """Return the columns of the bounds, as `each` makes them of (Q, E) values; null without bounds."""
        ends = {"low": self.low, "high": self.high}
        return {end: None if values is None else each(values) for end, values in ends.items()}


def _queries(table: _Grades) -> set[str]:
    return set(table["query"].unique()) if isinstance(table, pl.DataFrame) else set(table)


def _with_user_knowledge(lists: Lists, run: pl.DataFrame, grades: pl.DataFrame, options: _Options) -> Lists:
    numbers = pl.DataFrame({"query": lists.queries}, schema={"query": pl.String}).with_row_index("q")
    if options.expected is not None:
        counts = numbers.join(options.expected, on="query", how="left", maintain_order="left")
        lists = replace(lists, expected=counts["number"].fill_null(0).to_numpy())
    if options.known is not None:
        marks = options.known.with_columns(grade=pl.lit(1, dtype=pl.Int16))
        known = joined.ranked_lists(run, marks, lists.queries, max_grade=1).grades == 1
        judged = grades.join(options.known, on=["query", "doc"], how="semi").join(numbers, on="query")
        counted = {
            rel: np.bincount(judged.filter(pl.col("grade") >= rel)["q"].to_numpy(), minlength=numbers.height)
            for rel in {int(str(dict(one.arguments).get("rel", 1))) for one in options.measures}
        }
        lists = replace(lists, known=known, known_relevant=counted)
    return lists
