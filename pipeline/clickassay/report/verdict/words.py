"""Parts of sentences about intervals, tests and metrics, which findings and sections share."""

import math
import re

from clickassay.core.text.words import count, listed, span
from clickassay.correlation.uncertainty.multiplicity import ALPHA
from clickassay.findings.estimates import Estimate
from clickassay.findings.ranking import Lead
from clickassay.report.cells import Cell, Spelled, caution_reason, p_text

REACH = 100
"""More than so many times the judged queries of a run are out of reach: it cannot tell how many exactly."""

BASELINE_MEANINGS = {
    "MeanGrade": "mean grade",
    "MeanGrade@1": "grade of the first result",
    "P@1": "relevance of the first result",
}
"""What the baselines of `metrics.catalogue` measure, by name."""

MOST_NAMES = 3
"""More metrics than these are counted, not named, where space is scarce."""


def main_clause(text: str) -> str:
    """Return a sentence up to its first colon or semicolon, without what is in brackets."""
    return re.split(r"[:;] ", re.sub(r" \([^()]*\)", "", text))[0]


def spoken(name: str) -> str:
    """Return the name of a metric; that of a baseline by what it measures."""
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


def needed_text(found: Lead) -> str | None:
    """Return the judged queries that show a difference, e.g. ``400 to 2,300`` or ``400 or more``.

    They are those for the two ends of the interval of the difference: the number falls with its square. There
    is no most where the interval contains 0, or where the most is out of reach. None where there is no
    difference, or where what was seen is out of `REACH`.
    """
    if not is_within_reach(found) or found.queries_needed is None or not found.value:
        return None
    own = found.estimate
    near, far = sorted(abs(found.value if end is None else end) for end in (own.low, own.high))
    fewest = approximate_count(max(2.0, found.queries_needed * (found.value / far) ** 2))
    most = math.inf if own.covers_zero else found.queries_needed * (found.value / near) ** 2
    if most > REACH * found.n_queries:
        return f"{fewest} or more"
    return f"{fewest} to {approximate_count(max(2.0, most))}"


def is_within_reach(found: Lead) -> bool:
    """Return whether the queries needed to show a difference are at most `REACH` times those judged."""
    return found.queries_needed is not None and found.queries_needed <= REACH * found.n_queries


def queries_needed_cell(found: Lead, reason: str) -> Cell:
    """Return the cell of the judged queries that show a difference, or why there are none."""
    if found.queries_needed is None:
        return Estimate(None, reason=reason)
    return Spelled(needed_text(found) or "out of reach", found.queries_needed)


def significance_text(p_adjusted: float | None) -> str:
    """Return ``yes``, ``no`` or ``not tested``: whether two are significantly different."""
    if p_adjusted is None:
        return "not tested"
    return "yes" if p_adjusted < ALPHA else "no"


def caution_sentence(found: Estimate) -> str:
    """Return the caution of an interval as a sentence, with a space before; '' if there is none."""
    if found.caution is None:
        return ""
    if not found.has_interval:
        return f" It has no interval: {caution_reason(found.caution)}."
    return f" Do not rely on this interval: {found.caution}."


def test_text(found: Lead) -> str:
    """Return interval and adjusted p-value, e.g. ``95 % interval 0.1 to 0.2, adjusted p 0.010``."""
    return f"{interval_text(found.estimate)}, adjusted p {p_text(found.p_adjusted)}"


def interval_text(found: Estimate) -> str:
    """Return the interval, e.g. ``95 % interval 0.100 to 0.200``, or ``no interval``."""
    if found.low is None or found.high is None:
        return "no interval"
    return f"95 % interval {span(found.low, found.high)}"
