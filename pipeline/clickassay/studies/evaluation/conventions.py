"""Definitions that the values of an evaluation depend on, in words: gains, thresholds, ties, queries."""

from collections.abc import Mapping
from typing import Any

from clickassay.core.settings import Settings
from clickassay.core.text.words import count
from clickassay.metrics.definition import Measure, given_arguments
from clickassay.studies.evaluation.evaluate import AverageOver, Evaluation
from clickassay.studies.evaluation.lists import overlap

TIES = "falling score, then falling document name as bytes; the rank column is ignored, as in trec_eval"
INTERVALS = "95%, Student's t over the queries, cut to the range of the measure"
UNJUDGED = "worth grade 0"

_QUERIES = {
    "judged": "all that have judgments; a query that the run lacks has an empty ranking",
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
    """Return the conventions that the spelled out measures and `average_over` stand for, with a line each."""
    grouped = []
    for what in _OF_MEASURES:
        measures_by_text: dict[str, list[str]] = {}
        for measure in evaluation.measures:
            if what in (own := _of_measure(measure)):
                measures_by_text.setdefault(own[what], []).append(str(measure))
        if measures_by_text:
            grouped.append((what, _together(measures_by_text)))
    highest = max(lists.max_grade for lists in evaluation.lists.values())
    top = max((int(str(dict(one.arguments).get("max_rel", 0))) for one in evaluation.measures), default=0)
    if top > highest:  # it may have been declared too high
        words = f"{top}, but no judgment is above {highest}: if the scale ends there, give --max-grade "
        grouped.append(("Top of the scale", f"{words}{highest}"))
    grouped += [
        ("Order of results", TIES),
        ("Queries averaged", _QUERIES[average_over]),
        ("In common", overlap(evaluation.runs)),
        ("Intervals", INTERVALS),
    ]
    if pairs := evaluation.comparisons.height:
        tests = f"paired t test and randomisation test; Holm over {pairs:,} row{'' if pairs == 1 else 's'}"
        grouped.append(("Comparisons", tests))
    if evaluation.corrected_means.height:
        judged, both = evaluation.corrected_means.select("n_queries", "n_both").row(0)
        words = f"means of {count(judged)} queries by the judge, corrected by the {count(both)} of them that "
        plan = AS_PLANNED if evaluation.planned else AT_RANDOM
        grouped.append(("Corrected", f"{words}people judged too; {plan}"))
    return tuple(grouped)


AT_RANDOM = "intervals are valid if these are a random sample"
AS_PLANNED = "each counts by its chance in the plan that drew them"


def _together(measures_by_text: Mapping[str, list[str]]) -> str:
    """Return each text once, after the measures that it holds for; alone where it holds for all."""
    if len(measures_by_text) == 1:
        return next(iter(measures_by_text))
    usual = [UNJUDGED] if UNJUDGED in measures_by_text else []
    others = [
        f"{', '.join(names)}: {words}" for words, names in measures_by_text.items() if words != UNJUDGED
    ]
    return "; ".join([*usual, *others])


_GAINS, _IDEAL, _RELEVANT = "Gain and discount", "Ideal list", "Relevant"
_SATISFACTION, _UNGRADED = "Probability that grade g satisfies", "Results without a grade"
_OF_MEASURES = (_GAINS, _IDEAL, _RELEVANT, _SATISFACTION, _UNGRADED)


def _of_measure(measure: Measure) -> dict[str, str]:
    name, arguments, rules = measure.metric.name, dict(measure.arguments), dict(measure.rules)
    given: dict[str, Any] = given_arguments(measure, Settings())
    texts = {}
    if name in ("DCG", "NDCG", "CG", "NCG"):
        words = _DISCOUNTS[given.get("dcg", "none")]
        named = words.replace("(2^g - 1)", "g") + ", g as the gains named"
        texts[_GAINS] = words if given["gains"] is None else named
    if name in ("NDCG", "NCG"):
        texts[_IDEAL] = _IDEALS[given.get("ideal", "judged")]
    if arguments.get("rel") is not None:
        texts[_RELEVANT] = f"grade {arguments['rel']} or more"
    if name in ("ERR", "RBP") and "rel" not in arguments:
        top = arguments.get("max_rel")
        texts[_SATISFACTION] = "the gains named" if "gains" in arguments else f"(2^g - 1) / 2^{top}"
    if name in ("Bpref", "infAP", "Judged"):
        texts[_UNGRADED] = "a part of the measure"
    elif "unjudged" in rules:
        texts[_UNGRADED] = f"worth grade {rules['unjudged']}"
    else:
        texts[_UNGRADED] = "excluded" if rules.get("judged_only") else UNJUDGED
    return texts
