"""Why nothing can be decided, and what would help, in sentences."""

from clickassay.core.text.words import count, number
from clickassay.findings.claims import Claim
from clickassay.findings.ranking import WITHIN_QUERIES, Ranking
from clickassay.report.cells import caution_reason
from clickassay.report.verdict.sentences import PREDICTED
from clickassay.report.verdict.words import rounded_up

Told = tuple[str, ...]
"""A sentence without its full stop, reasons as sentences, and the next step."""


def undecided(claim: Claim) -> Told:
    """Say why the tests of a click metric decide nothing, and what would help."""
    ranking = claim.ranking
    if claim.kind == "no_correlation":
        return _no_value(ranking)
    more = "Judge more queries: intervals get narrower."
    if claim.kind == "not_tested":
        return "This log cannot decide: no correlation could be tested", more
    if claim.kind == "nothing_predicts":
        return _nothing_predicts(ranking)
    caution = ranking.competitors[ranking.highest].estimate.caution
    return f"This log cannot decide: its intervals are not reliable ({caution_reason(caution)})", more


def _no_value(ranking: Ranking) -> Told:
    if ranking.sample is None:
        why = ranking.reason or "no value"
        step = "Judge lists whole: the report counts the sessions that are left out, and why."
    else:
        why = f"there is no correlation ({ranking.reason})"
        step = "Judge several lists that differ in grades and in clicks."
    return f"This log cannot decide: {why}", step


def predicted(ranking: Ranking) -> str:
    """Return what the metrics of a ranking are to predict."""
    is_within = ranking.quantity == WITHIN_QUERIES
    return f"{PREDICTED[ranking.quantity]}, by {ranking.click}" if is_within else ranking.click


def _nothing_predicts(ranking: Ranking) -> Told:
    metrics = [ranking.competitors[name] for name in ranking.metrics]
    if all(one.is_below_nothing for one in metrics):
        return (
            f"This log cannot decide: {ranking.click} falls as every metric rises",
            f"All metrics are significantly below noise; the highest has {number(metrics[0].value)}.",
            "Check that the highest grade is the best: else judges and users disagree.",
        )
    return (
        f"This log cannot decide: no metric can be shown to predict {predicted(ranking)}",
        _ruled_out(ranking),
        "If smaller correlations are of no use, look at the judgments; else judge more queries.",
    )


def _ruled_out(ranking: Ranking) -> str:
    """Return which correlations the log rules out; none by an interval that is not reliable."""
    metrics = [ranking.competitors[name].estimate for name in ranking.metrics]
    caution = next((one.caution for one in metrics if one.caution), None)
    if caution:
        return f"Nor is any correlation ruled out: intervals are not reliable ({caution_reason(caution)})."
    ends = [ranking.competitors[name].together[1] for name in ranking.metrics]
    known = [end for end in ends if end is not None]
    if len(known) < len(ends):
        return ""
    highest = rounded_up(max(*known, 0.0))
    return f"A correlation of a metric above {highest} is ruled out by {count(ranking.n_queries)} queries."
