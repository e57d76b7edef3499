"""How often each kind of decision is said, and how often it is false, in a world of known truth."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import numpy as np
import polars as pl

from clickassay.core.contracts.run import ANALYSED_TABLES
from clickassay.core.records import SampleKey
from clickassay.findings.claims import Verdict
from clickassay.findings.decision import Decision, decide
from clickassay.findings.draw import verdict_of
from clickassay.findings.ranking import Deciding
from clickassay.findings.run import Run, settings_of

MARGIN = 0.05
SAID = ("switch", "keep", "use", "use_any")
"""Kinds of decisions that name metrics as better, equal or good enough."""


@cache
def _no_rows() -> Mapping[str, pl.DataFrame]:
    return {table.name: table.empty() for table in ANALYSED_TABLES}


def decisions_of(
    key: SampleKey, tables: Mapping[str, pl.DataFrame], clicks: tuple[str, ...], truth: Mapping[str, float]
) -> dict[str, float | None]:
    """Return the shares of decisions of each kind, and of those that are false.

    Each metric is in use in turn; *use* and *use any* are of the decision without one. `switch_wrong` and its
    like are shares of all decisions; `keep_wrong_untested` is that of *keep* for want of a significant
    difference; `best_among` whether the truly best is among the best.

    Parameters
    ----------
    key
        The place that decides.
    tables
        Its tables `within` and `within_comparisons`.
    clicks
        The click metrics that decide.
    truth
        The true value of each metric.
    """
    info = {"settings": {"click_metric": list(clicks)}}
    run = Run(MappingProxyType({**_no_rows(), **tables}), info, settings_of(info))
    verdict = verdict_of(run, Deciding("rankings", key))
    best = verdict.claims[0].ranking.among_best
    shares = [_of_decision(decide(verdict, (), name, MARGIN), verdict, truth) for name in truth]
    means = {name: float(np.mean([one[name] for one in shares])) for name in shares[0]}
    alone = _without_current(decide(verdict, (), None, MARGIN), truth)
    return means | alone | {"best_among": float(max(truth, key=truth.__getitem__) in best) if best else None}


def _of_decision(decision: Decision, verdict: Verdict, truth: Mapping[str, float]) -> dict[str, float]:
    current, subject = decision.current or "", decision.subject or ""
    ranking = verdict.claims[0].ranking
    is_better = max(truth.values()) - truth[current] > MARGIN
    is_untested = current in ranking.competitors and not ranking.above(current, ranking.metrics)
    is_decided = decision.kind != "cannot_decide"
    return {
        "switch": decision.kind == "switch",
        "switch_wrong": decision.kind == "switch" and truth[subject] <= truth[current],
        "keep": decision.kind == "keep",
        "keep_wrong": decision.kind == "keep" and is_better,
        "keep_wrong_untested": is_decided and is_untested and is_better,
        "depends_wrong": decision.kind == "choose_click_metric",
    }


def _without_current(decision: Decision, truth: Mapping[str, float]) -> dict[str, float]:
    kind, values = decision.kind, [truth[name] for name in decision.names if name in truth]
    others = [value for name, value in truth.items() if name != decision.subject]
    return {
        "use": kind == "use",
        "use_wrong": kind == "use" and truth[decision.subject or ""] <= max(others),
        "use_any": kind == "use_any",
        "use_any_wrong": kind == "use_any" and max(values) - min(values) > MARGIN,
    }


def false_share(kind: str) -> pl.Expr:
    """Return the share of the decisions of a kind that are false; null where none is said."""
    said = pl.col(kind).sum()
    return pl.when(said > 0).then(pl.col(f"{kind}_wrong").sum() / said).alias(f"{kind}_false")
