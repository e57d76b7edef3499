"""What numbers of an evaluation rest on, in words: gains, discounts, thresholds, ties, queries."""

from collections.abc import Callable
from typing import Any

from clickassay.core.settings import Settings
from clickassay.metrics.definition import Measure, given_arguments
from clickassay.studies.evaluation.evaluate import Evaluation, Queries

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


def conventions(found: Evaluation, *, queries: Queries) -> tuple[Convention, ...]:
    """Return pairs (what, how) for what the measures asked for rest on, each in one line.

    Parameters
    ----------
    found
        The evaluation; its measures have every parameter spelled out.
    queries
        Which queries its means are over.
    """
    about = {
        "Gain and discount": _gain,
        "Ideal list": _ideal,
        "Relevant": _relevant,
        "Chance that grade g satisfies": _chance,
        "Results without a grade": _unjudged,
    }
    told = [(what, _grouped(found.measures, how)) for what, how in about.items()]
    pairs = found.comparisons.height
    tests = f"paired t test and randomisation test; Holm over {pairs:,} row{'' if pairs == 1 else 's'}"
    return (
        *((what, words) for what, words in told if words),
        ("Order of results", TIES),
        ("Queries averaged", _QUERIES[queries]),
        ("Intervals", INTERVALS),
        *((("Comparisons", tests),) if pairs else ()),
    )


def _grouped(measures: tuple[Measure, ...], how: Callable[[Measure], str | None]) -> str:
    """Say each thing once, after the measures that it holds for; without them where it holds for all."""
    said: dict[str, list[str]] = {}
    for measure in measures:
        words = how(measure)
        if words is not None:
            said.setdefault(words, []).append(str(measure))
    if len(said) == 1:
        return next(iter(said))
    usual = [UNJUDGED] if UNJUDGED in said else []
    others = [f"{', '.join(names)}: {words}" for words, names in said.items() if words != UNJUDGED]
    return "; ".join([*usual, *others])


def _given(measure: Measure) -> dict[str, Any]:
    return given_arguments(measure, Settings())


def _gain(measure: Measure) -> str | None:
    given = _given(measure)
    if measure.metric.name not in ("DCG", "nDCG", "CG", "NCG"):
        return None
    words = _DISCOUNTS[given.get("dcg", "none")]
    return words if given["gains"] is None else words.replace("(2^g - 1)", "g") + ", g by the gains named"


def _ideal(measure: Measure) -> str | None:
    if measure.metric.name not in ("nDCG", "NCG"):
        return None
    return _IDEALS[_given(measure).get("ideal", "judged")]


def _relevant(measure: Measure) -> str | None:
    rel = dict(measure.arguments).get("rel")
    return None if rel is None else f"grade {rel} or more"


def _chance(measure: Measure) -> str | None:
    told = dict(measure.arguments)
    if measure.metric.name not in ("ERR", "RBP") or "rel" in told:
        return None
    return "by the gains named" if "gains" in told else f"(2^g - 1) / 2^{told['max_rel']}"


def _unjudged(measure: Measure) -> str:
    told = dict(measure.rules)
    if measure.metric.name in ("Bpref", "infAP", "Judged"):
        return "a part of the measure"
    words = "left out" if told.get("judged_only") else UNJUDGED
    return f"worth grade {told['unjudged']}" if "unjudged" in told else words
