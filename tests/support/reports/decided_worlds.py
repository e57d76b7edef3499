"""Worlds of a few numbers, and what is decided in them."""

from scipy.stats import norm as normal

from clickassay.findings.decision import decide
from clickassay.report.verdict.decision import advise
from support.reports.verdict_world import found_in, run_of, within

VALUES = {"DCG": 0.36, "AP": 0.30, "ERR": 0.40, "MeanGrade": 0.25, "MeanGrade@1": 0.38, "P@1": 0.33}
BASELINES = ("MeanGrade", "MeanGrade@1", "P@1")
LEVELS = "MeanRR", "UCTR"
"""Two click metrics."""
NARROW = 0.0001
"""A standard error so small that a bound is the difference itself, to three digits."""


def decided(run, current=None, health=(), margin=0.05):
    found = found_in(run).verdict
    return advise(found, decide(found, health, current, margin), health)


def world(values=VALUES, significant=(), **more):
    """A run that answers which of two rankings is better: 60 queries have two judged lists."""
    return run_of(**within(values, significant, **more), settings={"question": "rankings"})


def above(best, others):
    """The best differs significantly from these."""
    return [{best, other} for other in others if other != best]


def by_two_clicks(first, second, values=(VALUES, VALUES), **more):
    """Significant pairs by each of two click metrics."""
    both = [
        within(own, chosen, click, **more)
        for own, chosen, click in zip(values, (first, second), LEVELS, strict=True)
    ]
    frames = {name: [one[name] for one in both] for name in both[0]}
    return run_of(**frames, settings={"click_metric": list(LEVELS), "question": "rankings"})


def bound(difference, error, tests):
    """The upper end of a difference in a family of so many, of as many degrees as a normal deviate."""
    return difference + normal.ppf(1 - 0.025 / tests) * error
