"""What to do: the verdict, turned towards the metric that is in use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from clickassay.correlation.uncertainty.jackknife import HEAVY_TAIL
from clickassay.findings.claims import DEPENDS_ON_CLICK, Claim, Verdict
from clickassay.health.checks import HealthCheck

Kind = Literal[
    "log_at_fault",
    "cannot_decide",
    "choose_click_metric",
    "switch",
    "keep",
    "baseline_better",
    "use",
    "no_metric_better",
]
"""Kinds of decisions; docs/reference/summary.md defines each."""


@dataclass(frozen=True)
class Decision:
    """What to do.

    Attributes
    ----------
    kind
        What is advised.
    subject
        The metric or baseline that the advice is about; None if it is about none.
    current
        The metric in use; None if it was not named.
    better
        By click metric, the metrics that are significantly above the one in use, highest first; empty where
        it is not compared.
    is_compared
        Whether the metric in use has a correlation, and the decision is by the metrics above it.
    is_heavy_tailed
        Whether sessions are spread too unevenly for the tests behind it.
    other_judges
        The decision of each other judge, where it is another.
    """

    kind: Kind
    subject: str | None = None
    current: str | None = None
    better: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_compared: bool = False
    is_heavy_tailed: bool = False
    other_judges: Mapping[str, "Decision"] = field(default_factory=dict)


def decide_with_judges(
    verdict: Verdict,
    other_judges: Mapping[str, Verdict],
    health: Sequence[HealthCheck],
    current: str | None = None,
) -> Decision:
    """Return the decision of a run by its headline sample, and what it would be by another judge."""
    own = decide(verdict, health, current)
    others = {judge: decide(other, health, current) for judge, other in other_judges.items()}
    differ = {
        judge: one for judge, one in others.items() if (one.kind, one.subject) != (own.kind, own.subject)
    }
    return replace(own, other_judges=differ)


def decide(verdict: Verdict, health: Sequence[HealthCheck], current: str | None = None) -> Decision:
    """Return what the verdict and the health of the log amount to.

    Parameters
    ----------
    verdict
        What the tests allow to be said, for each click metric that counts.
    health
        The checks that fire, findings first.
    current
        The metric in use; None = unknown.
    """
    claim = verdict.claims[0]
    if health and health[0].is_finding:
        return Decision("log_at_fault", None, current)
    if is_undecided(claim):
        return Decision("cannot_decide", None, current)
    is_compared = current is not None and current in claim.ranking.competitors
    decision = _about(verdict, current) if current and is_compared else _without_current(verdict, current)
    return replace(decision, is_compared=is_compared, is_heavy_tailed=_is_heavy_tailed(decision, claim))


def is_undecided(claim: Claim) -> bool:
    """Whether the tests of a click metric decide nothing."""
    if claim.kind in {"no_correlation", "not_tested", "nothing_predicts"}:
        return True
    return claim.ranking.competitors[claim.ranking.highest].estimate.caution not in {None, HEAVY_TAIL}


def _is_heavy_tailed(decision: Decision, claim: Claim) -> bool:
    """Whether sessions are heavy-tailed: intervals of correlations are too short then."""
    ranking = claim.ranking
    subject = decision.subject or ranking.highest
    others = (ranking.lead(subject, name).estimate for name in ranking.competitors if name != subject)
    known = (ranking.competitors[ranking.highest].estimate, *others)
    return any(one.caution == HEAVY_TAIL for one in known)


def _without_current(verdict: Verdict, current: str | None) -> Decision:
    claim = verdict.claims[0]
    if verdict.kind == DEPENDS_ON_CLICK:
        return Decision("choose_click_metric", None, current)
    if claim.kind in {"metric_best", "metric_tied"}:
        return Decision("use", claim.subject, current)
    if claim.kind == "baseline_best":
        return Decision("baseline_better", claim.winning_baseline, current)
    return Decision("no_metric_better", claim.subject, current)


def _about(verdict: Verdict, current: str) -> Decision:
    rankings = [claim.ranking for claim in verdict.claims if current in claim.ranking.competitors]
    better = {ranking.click: ranking.above(current, ranking.metrics) for ranking in rankings}
    everywhere = in_all(better)
    if everywhere:
        return Decision("switch", everywhere[0], current, better)
    if any(better.values()):
        return Decision("choose_click_metric", None, current, better)
    baselines = rankings[0].above(current, rankings[0].baselines)
    if baselines:
        return Decision("baseline_better", baselines[0], current, better)
    return Decision("keep", current, current, better)


def in_all(better: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the names that every click metric has, in the order of the first."""
    first, *rest = better.values()
    return tuple(name for name in first if all(name in names for names in rest))
