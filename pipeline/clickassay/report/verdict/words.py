"""Parts of sentences about intervals, tests and metrics, which findings and sections share."""

import polars as pl

from clickassay.core.text import count, listed, span, visible
from clickassay.report.cells import Cell, Estimate, Spelled, caution_reason, p_text
from clickassay.report.model import Run
from clickassay.report.verdict.ranking import ALPHA, Lead

MAX_QUERIES_NEEDED = 10_000_000
"""A larger number of needed queries is not reported: nobody could judge so many."""

BASELINE_MEANINGS = {
    "MeanGrade": "mean grade",
    "MeanGrade@1": "grade of the first result",
    "P@1": "relevance of the first result",
}
"""What the baselines of `metrics.catalogue` measure, by name."""

MOST_NAMES = 3
"""More metrics than these are counted, not named, where space is scarce."""


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


def nothing_kept_reason(run: Run) -> str:
    """Return that no session was kept, and why most were lost."""
    lost = run.frames["funnel"].filter(pl.col("source") == "sessions", pl.col("reason") != "")
    if lost.is_empty() or lost["rows"].sum() == 0:
        return "no session was kept: the log and the judgments have no configuration in common"
    most = lost.sort(["rows", "reason"], descending=[True, False]).row(0, named=True)
    return (
        f"no session was kept; most were lost because of: {visible(most['reason'])} ({count(most['rows'])})"
    )


def approximate_count(queries: float) -> str:
    """Return an estimated number of queries, rounded to two digits."""
    if queries > MAX_QUERIES_NEEDED:
        return f"over {count(MAX_QUERIES_NEEDED)}"
    return count(int(float(f"{queries:.2g}")))


def queries_needed_cell(queries: float | None, reason: str) -> Cell:
    """Return the cell of an estimated number of queries, or why there is none."""
    return Estimate(None, reason=reason) if queries is None else Spelled(approximate_count(queries), queries)


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
    return f"{interval_text(found)}, adjusted p {p_text(found.p_adjusted)}"


def interval_text(found: Estimate) -> str:
    """Return the interval, e.g. ``95 % interval 0.100 to 0.200``, or ``no interval``."""
    if found.low is None or found.high is None:
        return "no interval"
    return f"95 % interval {span(found.low, found.high)}"
