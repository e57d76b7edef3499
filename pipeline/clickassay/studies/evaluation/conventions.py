"""Definitions that the values of an evaluation depend on, in words: gains, thresholds, ties, queries."""

from collections.abc import Callable
from typing import Any

from clickassay.core.settings import Settings
from clickassay.core.text.words import count
from clickassay.metrics.definition import Measure, given_arguments
from clickassay.studies.evaluation.evaluate import AverageOver, Evaluation
from clickassay.studies.evaluation.joins import overlap

TIES = "falling score, then falling document name as bytes; the rank column is ignored, as in trec_eval"
INTERVALS = "95 %, Student's t over the queries, kept within the range of the measure"
UNJUDGED = "worth grade 0"

_QUERIES = {
    "judged": "all that have judgments; where the run lacks one, its list is empty",
    "both": "those that have judgments and results",
}
_DISCOUNTS = {
    "log2": "gain g / log2(rank + 1)",
    "exp-log2": "gain (2^g - 1) / log2(rank + 1)",
    "jk-log2": "gain g / max(1, log2(rank))",
    "none": "gain g, not discounted",
}
_IDEALS = {
    "judged": "best judged results of the query, to the cut",
    "uncut": "all judged results of the query, best first, not cut",
    "shown": "results of the list, best first",
}

Convention = tuple[str, str]


def conventions(evaluation: Evaluation, *, average_over: AverageOver) -> tuple[Convention, ...]:
    """Return the conventions that the measures of an evaluation depend on, and a line on each.

    evaluation: the evaluation; its measures have every parameter spelled out.
    average_over: which queries its means are over.
    """
    about = {
        "Gain and discount": _gain,
        "Ideal list": _ideal,
        "Relevant": _relevant,
        "Probability that grade g satisfies": _satisfaction,
        "Results without a grade": _unjudged,
    }
    grouped = [(what, _group_by_text(evaluation.measures, how)) for what, how in about.items()]
    pairs = evaluation.comparisons.height
    tests = f"paired t test and randomisation test; Holm over {pairs:,} row{'' if pairs == 1 else 's'}"
    return (
        *((what, text) for what, text in grouped if text),
        *_scale_above_grades(evaluation),
        ("Order of results", TIES),
        ("Queries averaged", _QUERIES[average_over]),
        ("In common", overlap(evaluation.runs)),
        ("Intervals", INTERVALS),
        *((("Comparisons", tests),) if pairs else ()),
        *_corrected(evaluation),
    )


AT_RANDOM = "intervals hold if these are a random sample"
AS_PLANNED = "each counts by its chance in the plan that drew them"


def _corrected(evaluation: Evaluation) -> tuple[Convention, ...]:
    frame = evaluation.corrected_means
    if frame.is_empty():
        return ()
    judged, both = frame.select("n_queries", "n_both").row(0)
    text = (
        f"means of {count(judged)} queries by the judge, corrected by the {count(both)} of them that people "
        f"judged too; {AS_PLANNED if evaluation.planned else AT_RANDOM}"
    )
    return (("Corrected", text),)


def _group_by_text(measures: tuple[Measure, ...], how: Callable[[Measure], str | None]) -> str:
    """Return each text once, after the measures that it holds for; alone where it holds for all."""
    measures_by_text: dict[str, list[str]] = {}
    for measure in measures:
        words = how(measure)
        if words is not None:
            measures_by_text.setdefault(words, []).append(str(measure))
    if len(measures_by_text) == 1:
        return next(iter(measures_by_text))
    usual = [UNJUDGED] if UNJUDGED in measures_by_text else []
    others = [
        f"{', '.join(names)}: {words}" for words, names in measures_by_text.items() if words != UNJUDGED
    ]
    return "; ".join([*usual, *others])


def _given(measure: Measure) -> dict[str, Any]:
    return given_arguments(measure, Settings())


def _gain(measure: Measure) -> str | None:
    given = _given(measure)
    if measure.metric.name not in ("DCG", "NDCG", "CG", "NCG"):
        return None
    words = _DISCOUNTS[given.get("dcg", "none")]
    return words if given["gains"] is None else words.replace("(2^g - 1)", "g") + ", g by the gains named"


def _ideal(measure: Measure) -> str | None:
    if measure.metric.name not in ("NDCG", "NCG"):
        return None
    return _IDEALS[_given(measure).get("ideal", "judged")]


def _relevant(measure: Measure) -> str | None:
    rel = dict(measure.arguments).get("rel")
    return None if rel is None else f"grade {rel} or more"


def _satisfaction(measure: Measure) -> str | None:
    arguments = dict(measure.arguments)
    if measure.metric.name not in ("ERR", "RBP") or "rel" in arguments:
        return None
    return "by the gains named" if "gains" in arguments else f"(2^g - 1) / 2^{arguments['max_rel']}"


def _scale_above_grades(evaluation: Evaluation) -> tuple[Convention, ...]:
    """Say that no grade reaches the top of the scale, which may then have been declared too high."""
    highest = max(lists.max_grade for lists in evaluation.lists.values())
    tops = [int(str(dict(one.arguments).get("max_rel", 0))) for one in evaluation.measures]
    if max(tops, default=0) <= highest:
        return ()
    words = f"{max(tops)}, and no judgment is above {highest}: a scale that ends there needs --max-grade "
    return (("Top of the scale", f"{words}{highest}"),)


def _unjudged(measure: Measure) -> str:
    rules = dict(measure.rules)
    if measure.metric.name in ("Bpref", "infAP", "Judged"):
        return "a part of the measure"
    if "unjudged" in rules:
        return f"worth grade {rules['unjudged']}"
    return "left out" if rules.get("judged_only") else UNJUDGED
