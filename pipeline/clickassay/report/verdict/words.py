"""Parts of sentences about intervals, tests and metrics, which findings and sections share."""

import math
from collections.abc import Sequence

from clickassay.core.text.words import count, listed, number, span
from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.findings.estimates import Estimate
from clickassay.findings.ranking import Lead, Ranking
from clickassay.report.tables import Cell, Spelled, caution_reason, p_text

BASELINE_MEANINGS = {
    "MeanGrade": "mean grade",
    "MeanGrade@1": "grade of the first result",
    "P@1": "relevance of the first result",
}
"""What the baselines of `metrics.catalogue` measure, by name."""

MOST_NAMES = 3
"""More metrics than these are counted, not named, where space is scarce."""


def spoken(name: str) -> str:
    """Return the name of a metric; of a baseline its meaning."""
    return f"the {BASELINE_MEANINGS[name]}" if name in BASELINE_MEANINGS else name


def all_spoken(names: tuple[str, ...], joint: str = "and") -> str:
    """List metrics, the baselines by what they measure."""
    return listed(map(spoken, names), joint)


def few_spoken(names: tuple[str, ...], joint: str = "and") -> str:
    """List metrics; of many the first, and how many others."""
    if len(names) <= MOST_NAMES:
        return all_spoken(names, joint)
    return f"{spoken(names[0])} {joint} {len(names) - 1} others"


def approximate_count(queries: float) -> str:
    """Return an estimated number of queries, rounded to two digits."""
    return count(int(float(f"{queries:.2g}")))


def needed_text(lead: Lead) -> str | None:
    """Return the judged queries that show a difference, e.g. ``at least 400``; None where out of reach."""
    if not lead.is_within_reach or lead.queries_needed is None:
        return None
    return f"at least {approximate_count(lead.queries_needed)}"


def queries_needed_cell(lead: Lead, reason: str) -> Cell:
    """Return the cell of the judged queries that show a difference, or why there are none."""
    if lead.queries_needed is None:
        return Estimate(None, reason=reason)
    return Spelled(needed_text(lead) or "out of reach", lead.queries_needed)


def significance_text(p_adjusted: float | None) -> str:
    """Return ``yes``, ``no`` or ``not tested``: whether two are significantly different."""
    if p_adjusted is None:
        return "not tested"
    return "yes" if p_adjusted < ALPHA else "no"


def caution_sentence(cell: Estimate) -> str:
    """Return the caution of an interval as a sentence, with a space before; '' if there is none."""
    if cell.caution is None:
        return ""
    if not cell.has_interval:
        return f" It has no interval: {caution_reason(cell.caution)}."
    return f" Do not rely on this interval: {cell.caution}."


def test_text(lead: Lead) -> str:
    """Return interval and adjusted p-value, e.g. ``95 % interval 0.1 to 0.2, adjusted p 0.010``."""
    return f"{interval_text(lead.estimate)}, adjusted p {p_text(lead.p_adjusted)}"


def interval_text(cell: Estimate) -> str:
    """Return the interval, e.g. ``95 % interval 0.100 to 0.200``, or ``no interval``."""
    if cell.low is None or cell.high is None:
        return "no interval"
    return f"95 % interval {span(cell.low, cell.high)}"


def adds_text(ranking: Ranking, baseline: str, names: Sequence[str] | None = None) -> str:
    """Say what metrics add to a baseline, or how much that may be; '' where it is not known."""
    names = ranking.metrics if names is None else names
    partials, best = ranking.partials(baseline, names), ranking.adding(baseline, names)
    if not partials:
        return ""
    what = f"to {spoken(baseline)} alone"
    if best is not None:
        most = partials[best][0]
        return f"{best} adds {what}: partial correlation {number(most.value)} ({interval_text(most)})."
    bound = max(0.0, *(one.high or 0.0 for one, _ in partials.values()))
    nothing = "No metric adds anything" if len(partials) > 1 else f"{next(iter(partials))} adds nothing"
    return f"{nothing} {what} that these clicks show (partial correlation at most {rounded_up(bound)})."


def rounded_up(bound: float) -> str:
    """Return a bound with three decimals, rounded up so that it stays one."""
    return number(_up(bound))


def rounded_out(low: float, high: float) -> str:
    """Return an interval whose ends are rounded as bounds are: outwards."""
    return span(-_up(-low), _up(high))


def _up(bound: float) -> float:
    return math.ceil(round(bound * 1000, 6)) / 1000  # no digit more for rounding
