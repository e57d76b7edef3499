"""Runs of a few numbers that are written down: correlations, and which differences are significant."""

import itertools
import math

import numpy as np
import polars as pl
from scipy.stats import norm as normal

from clickassay.findings.decision import decide
from clickassay.findings.draw import draw_findings
from clickassay.findings.run import run_of as read_run
from clickassay.findings.signals import evidence
from clickassay.report.verdict.decision import advise
from support.reports.report_tables import empty_tables, frame_of, run_info

KEY = {"market": "m", "depth": 5, "judge": "j"}
SURE, UNSURE = 0.001, 0.4
"""Adjusted p-values of a difference that is significant, and of one that is not."""
CHURN = {"periods": 8, "user_folds": 16, "moments": 5.5, "side_by_side": 0.8}
ONE_CHANGE = {**CHURN, "moments": 1.2, "side_by_side": 0.3}
"""How lists changed over time, and what is taken out of correlations within queries."""


def statistics(*samples):
    """Rows of (market, depth, judge, kept sessions), of 4 queries unless a fifth number says otherwise."""
    rows = [
        (*key, queries, 9, kept, 1000, kept / 1000)
        for *key, kept, queries in (one if len(one) == 5 else (*one, 4) for one in samples)
    ]
    return frame_of("statistics", rows)


def correlations(values, click="MeanRR", key=KEY, p=SURE, nulls=None, table="correlations", queries=4):
    """One overall row per metric; its interval is 0.05 wide on both sides. `p` may be given by metric."""
    by_metric = p if isinstance(p, dict) else dict.fromkeys(values, p)
    rows = [
        {
            **key,
            **{"split": "all", "class": "all", "click_metric": click, "editorial_metric": name},
            **{"correlation": value, "ci_low": value - 0.05, "ci_high": value + 0.05},
            **{"simultaneous_low": value - 0.08, "simultaneous_high": value + 0.08},
            **{"p_value": by_metric[name], "p_adjusted": by_metric[name]},
            "null_correlation": (nulls or {}).get(name, 0.0),
            **{"n_configurations": 9, "n_queries": queries, "n_sessions": 50},
        }
        for name, value in values.items()
    ]
    return frame_of(table, rows)


def within(values, significant=(), click="MeanRR", key=KEY, queries=60, changes=CHURN, **more):
    """Tables of correlations within queries, of so many queries, by name.

    `changes`: how their lists changed; `more` as for `pairs`.
    """
    p = {"p": more.pop("p")} if "p" in more else {}
    rows = correlations(values, click, key, table="within", queries=queries, **p)
    return {
        "within": rows.with_columns(**{name: pl.lit(value) for name, value in changes.items()}),
        "within_comparisons": pairs(values, significant, click, key, table="within_comparisons", **more),
    }


def differences(values, click="MeanRR", key=KEY, p=SURE):
    """One row per metric: (closed form, sign agreement)."""
    rows = [
        {
            **key,
            **{"click_metric": click, "editorial_metric": name, "exact": exact, "sign_agreement": sign},
            **{"ci_low": exact - 0.1, "ci_high": exact + 0.1, "p_value": p, "p_adjusted": p},
            **{"simultaneous_low": exact - 0.16, "simultaneous_high": exact + 0.16},
        }
        for name, (exact, sign) in values.items()
    ]
    return frame_of("differences", rows)


def pairs(values, significant=(), click="MeanRR", key=KEY, table="comparisons", untested=(), error=None):
    """Every pair of metrics; those of `significant` (as sets) differ significantly; half of them swapped.

    The standard error is 0.004 where they do and else 0.02, if not given; intervals are those of normal
    deviates.
    """
    rows, tests = [], math.comb(len(values), 2) - len(untested)
    for place, (a, b) in enumerate(itertools.combinations(values, 2)):
        first, second = (a, b) if place % 2 else (b, a)
        ahead = values[first] - values[second]
        is_sure, is_tested = {a, b} in significant, {a, b} not in untested
        p = (SURE if is_sure else UNSURE) if is_tested else None
        own = error or (0.004 if is_sure else 0.02)
        widths = [normal.ppf(1 - 0.025 / family) * own for family in (1, tests)]
        ends = [ahead + sign * width if is_tested else None for width in widths for sign in (-1, 1)]
        spread = (own, 1e6) if is_tested else (None, None)
        rows.append((*key.values(), click, first, second, ahead, *ends, *spread, p, p, 1234, 4, None))
    return frame_of(table, rows)


def run_of(*, settings=None, **frames):
    """The run of some tables; a list of frames is one table."""
    whole = {name: pl.concat(frame) if isinstance(frame, list) else frame for name, frame in frames.items()}
    tables = {**empty_tables(), "statistics": statistics((*KEY.values(), 50)), **whole}
    info = run_info()
    asked = {"question": "queries", **(settings or {})}
    return read_run(tables, {**info, "settings": {**info["settings"], **asked}})


def found_in(run):
    """What a run claims, its draws from seed 0."""
    return draw_findings(run, np.random.default_rng(0))


VALUES = {"DCG": 0.36, "AP": 0.30, "ERR": 0.40, "MeanGrade": 0.25, "MeanGrade@1": 0.38, "P@1": 0.33}
BASELINES = ("MeanGrade", "MeanGrade@1", "P@1")
LEVELS = "MeanRR", "UCTR"
"""Two click metrics."""
NARROW = 0.0001
"""A standard error so small that a bound is the difference itself, to three digits."""


def decided(run, current=None, health=(), margin=0.05):
    found = found_in(run).verdict
    decision = decide(found, health, current, margin)
    return advise(found, decision, health, evidence(run, found, decision))


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
