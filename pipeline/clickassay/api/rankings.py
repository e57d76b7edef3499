"""Questions about rankings and judges, without clicks: see `api.questions`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from clickassay.api.given import HasRun, Names, Place, Table, Told, saved, several, source_of
from clickassay.api.questions import Bar
from clickassay.api.screen.progress import progress_of
from clickassay.api.screen.python import for_python
from clickassay.core.errors import SettingsError
from clickassay.core.help import Help

if TYPE_CHECKING:
    from clickassay.api.studies.evaluate import EvaluationResult
    from clickassay.api.studies.judges import JudgesResult
    from clickassay.inputs.text.trec import Source
    from clickassay.studies.evaluation.evaluate import Measures
else:
    Source = Measures = Any

MEASURES, MEASURE = "nDCG@10 ERR@10 AP RR P@10", "nDCG@10"
"""What `evaluate` computes, and by what `judges` compares rankings, unless asked for others."""

Queries = Annotated[
    Table, Help("Table with a column query and classes of queries.", metavar="FILE", typed=Path | None)
]
By = Annotated[Names, Help("Class to split by.", "every class", "Or several.", metavar="COLUMN")]


@for_python
def judges(
    files: Annotated[
        Table,
        Help(
            "Judgments: one file per judge, or one file with a column judge.",
            also="A file has any layout that `clickassay import judgments` reads; or frames, or dicts "
            "``{query: {doc: grade}}``; side by side, in a list, or in a dict by the judge's name.",
            metavar="FILES",
            typed=list[Path],
        ),
    ],
    *others: Annotated[Table, Help("As `files`.", is_option=False)],
    judge: Annotated[
        Names,
        Help(
            "Name of each judge, in the order given.",
            "its own",
            "Frames are judge 1, judge 2.",
            metavar="NAME",
        ),
    ] = (),
    grade_map: Annotated[
        Names | Mapping[Any, Any],
        Help(
            "Map ratings to grades, e.g. 0=0,1=1,10=3. Give one map for all judges, or one each.",
            also="Or a dict.",
            metavar="MAP",
        ),
    ] = (),
    max_grade: Annotated[
        int | None,
        Help(
            "Highest grade of the scale.",
            "the highest found",
            "AC1 depends on it; ratings above are refused.",
            metavar="GRADE",
        ),
    ] = None,
    rankings: Annotated[
        Sequence[str | Path],
        Help(
            "Rankings: does their order depend on the judge?",
            again=" Repeat for several.",
            metavar="FILE",
            typed=list[Path] | None,
        ),
    ] = (),
    measures: Annotated[
        Names, Help("Metrics of the rankings.", MEASURE, names=("--metric", "-m"), metavar="NAMES")
    ] = MEASURE,
    queries: Queries = None,
    by: By = (),
    run: Annotated[
        HasRun | Place | None,
        Help(
            "Pattern table, or run with these judges: whose order do its clicks support?",
            also="Saved in a folder.",
            metavar="FOLDER",
        ),
    ] = None,
    at_least: Annotated[float | None, Help("Required quadratic kappa.", metavar="KAPPA")] = None,
    progress: Bar = False,
) -> "JudgesResult":
    """Measure how well judges agree, without a log.

    Raises
    ------
    InputError, SettingsError
        If a file cannot be read, or there is one judge.
    NothingInCommonError
        If no two judges graded the same result.

    Examples
    --------
    >>> found = ca.judges(["people.csv", "model.csv"])
    >>> found.verdict.startswith("people and model have a quadratic kappa of ")
    True
    """  # fmt: skip
    from clickassay.api.studies.judges import JudgesResult, file_of, rating_options
    from clickassay.core.files.scratch import scratch
    from clickassay.core.settings.project import pairs_of
    from clickassay.jobs.judges import compare_files

    side_by_side = isinstance(files, list | tuple) and not isinstance(next(iter(files), None), dict | list)
    named, given = {}, list(files) if side_by_side and not others else [files, *others]
    if isinstance(files, Mapping) and not others:
        named, given = {str(name): one for name, one in files.items()}, list(files.values())
    if isinstance(grade_map, Mapping):
        grade_map = ",".join(pairs_of(grade_map))
    if at_least is not None and not -1 <= at_least <= 1:
        raise SettingsError(f"--at-least {at_least:g}: a kappa is -1 to 1, e.g. 0.6")
    with progress_of(progress) as told, scratch():
        places = [file_of(one, f"judge {at}") for at, one in enumerate(given, 1)]
        found = compare_files(
            places,
            rating_options(places, several(judge) or tuple(named), grade_map, max_grade),
            rankings=tuple(map(Path, rankings)),
            measures=" ".join(several(measures)),
            queries=source_of(queries),
            by=several(by),
            run=saved(run),
            progress=told,
        )
    return JudgesResult(found, at_least)


@for_python
def evaluate(
    qrels: Annotated[
        Source,
        Help(
            "Judgments: lines `query 0 doc grade`.",
            also="A TREC file, a Polars or pandas frame with columns query, doc, grade, or a dict "
            "``{query: {doc: grade}}``.",
            metavar="QRELS",
            typed=Path,
        ),
    ],
    runs: Annotated[
        Source | Mapping[str, Source],
        Help(
            "Rankings: lines `query Q0 doc rank score tag`.",
            also="A TREC file, a frame with columns query, doc, score, a dict ``{query: {doc: score}}``, or "
            "``{query: [doc, ...]}``, best first; or a dict of such by name.",
            metavar="RANKINGS",
            typed=list[Path],
        ),
    ],
    measures: Annotated[
        Measures,
        Help(
            "Metrics to compute.",
            MEASURES,
            names=("--metric", "-m"),
            again=" Several with commas or blanks.",
            also='Names in the grammar of ir_measures, or of trec_eval, as ``"nDCG@10 ERR@10 AP(rel=2)"``; '
            "or a list of them, of `clickassay.measures` or text.",
            metavar="NAMES",
            typed=list[str] | None,
        ),
    ] = MEASURES,
    *,
    rel: Annotated[
        int,
        Help(
            "Lowest grade that is relevant, where a name has no rel.",
            also="1 as in trec_eval.",
            names=("--relevant-grade", "--rel"),
            metavar="GRADE",
        ),
    ] = 1,
    average_over: Annotated[
        Literal["judged", "both"],
        Help(
            "Average over all judged queries, or only those in the ranking.",
            also="``judged``: a query that a run lacks counts as an empty list, 0 for most measures, as in "
            "ir_measures; ``both``: as in trec_eval.",
        ),
    ] = "judged",
    bounds: Annotated[
        bool, Help("Also the lowest and highest value that unjudged results could give.")
    ] = False,
    known: Annotated[
        Source | None,
        Help(
            "Documents that users know already: lines `query doc`.",
            also="For Coverage and Novelty.",
            metavar="FILE",
        ),
    ] = None,
    expected: Annotated[
        Source | None,
        Help(
            "How many relevant results users expect: lines `query number`.",
            also="For RelativeRecall and RecallEffort.",
            metavar="FILE",
        ),
    ] = None,
    judge: Annotated[
        Source | None,
        Help(
            "A model's judgments of more queries: their means, corrected by QRELS of people.",
            also="Intervals are valid if the queries of `qrels` are a random sample.",
            metavar="FILE",
        ),
    ] = None,
    plan: Annotated[
        Place | None,
        Help(
            "With --judge: the plan that drew the queries of QRELS.",
            also="Queries are weighted by their probability of being drawn.",
            metavar="PLAN",
        ),
    ] = None,
    queries: Queries = None,
    by: By = (),
    baseline: Annotated[
        str | None, Help("Compare each ranking only with the one of this name.", metavar="NAME")
    ] = None,
    max_grade: Annotated[
        int,
        Help(
            "Top of the scale, for ERR and RBP where a name has no ``max_rel``; never taken from the data.",
            is_option=False,
        ),
    ] = 4,
    persistence: Annotated[float, Help("p of RBP where a name has no ``p``.", is_option=False)] = 0.8,
    scale: Annotated[
        Sequence[str] | str | Mapping[Any, Any],
        Help("Labels instead of grades, worst first; they determine `max_grade`.", is_option=False),
    ] = (),
    seed: Annotated[int, Help("Seed of the randomisation test.", is_option=False)] = 0,
    conflicts: Annotated[
        Literal["error", "max", "mean-rounded", "latest"],
        Help("Rule for a document judged more than once for a query.", is_option=False),
    ] = "error",
    strict: Annotated[
        bool, Help("Refuse a run if none of its results is judged; otherwise warn.", is_option=False)
    ] = False,
    progress: Annotated[
        Told,
        Help("As in `run`; off by default, since most evaluations are faster than the bar.", is_option=False),
    ] = False,
) -> "EvaluationResult":
    """Evaluate runs against judgments.

    Raises
    ------
    InputError, SettingsError, JudgmentError
        If an input, a name or a grade is invalid.
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
    """  # fmt: skip
    from clickassay.api.studies.evaluate import EvaluationResult, classes_of, design_of
    from clickassay.core.settings.texts import items_of, labels_of
    from clickassay.studies.evaluation.evaluate import evaluate as evaluated

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
