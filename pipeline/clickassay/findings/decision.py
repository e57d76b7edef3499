"""What to do: the tests of the question that decides, turned towards the metric that is in use.

"Significant" is Holm in the family of the decision: all others against the metric in use; without one, all
pairs. Bounds hold for that family at once, but for *keep*, which asks each upper end by itself. Nothing is
advised about what is not shown to be above nothing, nor where lists changed at one moment only; and no metric
is advised in place of another where two click metrics that were named have different winners.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Literal

from clickassay.correlation.uncertainty.intervals import FEW_QUERIES, HEAVY_TAIL, NO_INTERVAL
from clickassay.findings.claims import Verdict
from clickassay.findings.ranking import Lead, Question, Ranking, Shared
from clickassay.health.checks import HealthCheck

Kind = Literal[
    "log_at_fault",
    "cannot_decide",
    "choose_click_metric",
    "switch",
    "baseline_better",
    "keep",
    "use",
    "baseline_as_good",
    "use_any",
    "cannot_say",
]
"""Kinds of decisions; docs/reference/summary.md defines each."""

USUAL = "NDCG"
"""The metric that most teams have in use."""

_ADVICE = {"switch", "baseline_better", "keep", "use", "baseline_as_good", "use_any"}
"""Kinds that advise something."""


@dataclass(frozen=True)
class Decision:
    """What to do."""

    kind: Kind  # What is advised.
    # What the metric is to be good for: comparing two rankings, or telling queries apart.
    question: Question = "rankings"
    subject: str | None = None  # The metric or baseline that the advice is about; None if it is about none.
    current: str | None = None  # The metric in use; None if it was not named.
    margin: float = 0.0  # A difference in correlation that nobody would act on; 0..1.
    # Other metrics and baselines that the advice is about, highest first: the ones that are better too, or
    # all that are among the best.
    names: tuple[str, ...] = ()
    other: str | None = None  # What the subject is compared with.
    lead: Lead | None = None  # How much the subject is ahead of that; None where nothing is compared.
    # The largest difference that may be there, of all that the advice is about; None without one.
    bound: float | None = None
    # What it would be about, were it shown to be above nothing; None where it is, or nothing is advised.
    unproven: str | None = None
    # What all queries share that the correlation it is about is without; None where another number decides.
    shared: Shared | None = None
    is_taken_back: bool = False  # Whether another would be made, had lists not changed at one moment only.
    # By other click metric, the metrics that are significantly better by it, where the first shows none.
    by_others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # By click metric, what is significantly better than the metric in use, where click metrics disagree.
    winners: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Whether the metric in use has a correlation, and the decision is by the metrics above it.
    is_compared: bool = False
    # Whether sessions are spread too unevenly for the tests behind it, and it would be another with capped
    # weights of queries.
    is_heavy_tailed: bool = False
    capped: "Decision | None" = None  # What it would be with capped weights then.
    # The decision of each other judge, where it is another.
    other_judges: Mapping[str, "Decision"] = field(default_factory=dict)
    # What it would be if `USUAL` were in use, where it has a value and no metric is named.
    with_usual: "Decision | None" = None


def same(one: Decision, other: Decision) -> bool:
    """Tell whether two decisions advise the same."""
    return (one.kind, one.subject) == (other.kind, other.subject)


def decide(verdict: Verdict, health: Sequence[HealthCheck], current: str | None, margin: float) -> Decision:
    """Return what the verdict (for each click metric that counts) and the health of the log amount to (7.7).

    margin: a difference in correlation that nobody would act on; 0..1. current: the metric in use, if known.
    """
    claim = verdict.claims[0]
    is_compared = current is not None and current in claim.ranking.competitors
    decision = Decision("cannot_decide", question=verdict.question, current=current, margin=margin)
    if health and health[0].is_finding:
        return replace(decision, kind="log_at_fault")
    ranking = claim.ranking
    if claim.kind in {"no_correlation", "not_tested", "nothing_predicts"}:
        return decision
    if ranking.competitors[ranking.highest].estimate.caution in {FEW_QUERIES, NO_INTERVAL}:
        return decision
    made = _about(verdict, current, margin) if current and is_compared else _without_current(verdict, margin)
    if made.kind in _ADVICE:  # nothing about what is not shown to be above nothing
        about = made.names if made.subject is None else (made.subject,)
        unproven = next((name for name in about if not ranking.competitors[name].is_above_nothing), None)
        made = made if unproven is None else replace(made, kind="cannot_say", unproven=unproven)
    shared = ranking.competitors[made.subject or (*made.names, ranking.highest)[0]].shared
    made = replace(made, shared=shared)
    if shared is not None and shared.is_one_change and made.kind in _ADVICE:  # all lists at one moment
        made = replace(made, kind="cannot_say", is_taken_back=True)
    # sessions are heavy-tailed: intervals of correlations are too short then
    subject = made.subject or ranking.highest
    others = (ranking.lead(subject, name).estimate for name in ranking.competitors if name != subject)
    known = (ranking.competitors[ranking.highest].estimate, *others)
    return replace(
        made, question=verdict.question, current=current, margin=margin, is_compared=is_compared,
        is_heavy_tailed=any(one.caution == HEAVY_TAIL for one in known),
    )  # fmt: skip


def _upper(lead: Lead) -> float:
    """Return the most that a difference may be in its family; infinite where no bound is known."""
    return math.inf if lead.together[1] is None else lead.together[1]


def _own_upper(lead: Lead) -> float:
    """Return the upper end of the plain 95% CI, else infinity: that all are below a bound needs no family."""
    return math.inf if lead.estimate.high is None else lead.estimate.high


@dataclass(frozen=True)
class Challenge:
    """All other metrics and baselines against the metric in use, by one click metric."""

    ranking: Ranking
    current: str
    margin: float

    @cached_property
    def leads(self) -> dict[str, Lead]:
        """How much each other one is ahead of the metric in use, highest first."""
        return self.ranking.against(self.current)

    def better(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the names that are significantly better, and may be so by more than the margin."""
        ahead = (name for name in names if name in self.leads and self.leads[name].is_ahead)
        return tuple(name for name in ahead if _upper(self.leads[name]) >= self.margin)

    def proven(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of `better` that are above nothing."""
        competitors = self.ranking.competitors
        return tuple(name for name in self.better(names) if competitors[name].is_above_nothing)

    @cached_property
    def winners(self) -> tuple[str, ...]:
        """Metrics that are better, and significantly below none of these; baselines where no metric is."""
        better = self.proven(self.ranking.metrics) or self.proven(self.ranking.baselines)
        return tuple(name for name in better if not self.ranking.above(name, better))

    def agrees(self, name: str) -> bool:
        """Whether nothing is better here, or `name` is and no winner is significantly above it."""
        is_better = name in self.better((name,)) and not self.ranking.above(name, self.winners)
        return is_better or not self.winners

    @property
    def worse(self) -> set[str]:
        """All that are significantly worse than the metric in use."""
        return {name for name, lead in self.leads.items() if lead.is_significant and (lead.value or 0.0) < 0}

    @property
    def strongest(self) -> str | None:
        """The metric or baseline that may be ahead by most, each by itself; None without another one."""
        return max(self.leads, key=lambda name: _own_upper(self.leads[name]), default=None)


def _about(verdict: Verdict, current: str, margin: float) -> Decision:
    rankings = [claim.ranking for claim in verdict.claims if current in claim.ranking.competitors]
    every = first, *rest = [Challenge(ranking, current, margin) for ranking in rankings]
    winners = {one.ranking.click: one.winners for one in every}
    disagree = Decision(
        "choose_click_metric", winners={click: names for click, names in winners.items() if names}
    )
    worse = set().union(*(one.worse for one in every))
    if any(worse & set(one.better(one.ranking.metrics)) for one in every):
        return disagree
    if first.winners:
        named = [one for one in rest if one.ranking.click not in verdict.unasked]
        best = next((name for name in first.winners if all(one.agrees(name) for one in named)), None)
        if best is None or best in worse:
            return disagree
        if best not in first.ranking.metrics:
            return _compared("baseline_better", best, first)
        also = tuple(name for name in first.better(first.ranking.metrics) if name != best)
        return _compared("switch", best, first, names=also)
    if better := first.better(first.ranking.metrics):  # above nothing it is not: `decide` takes it back
        return _compared("switch", better[0], first)
    others = {one.ranking.click: one.better(one.ranking.metrics) for one in rest}
    return _kept(first, {click: names for click, names in others.items() if names})


def _compared(kind: Kind, subject: str, challenge: Challenge, names: tuple[str, ...] = ()) -> Decision:
    lead = challenge.leads[subject]
    return Decision(kind, subject=subject, names=names, other=challenge.current, lead=lead)


def _kept(first: Challenge, by_others: Mapping[str, tuple[str, ...]]) -> Decision:
    strongest = first.strongest
    if strongest is None:
        return Decision("keep", subject=first.current)
    lead = first.leads[strongest]
    bound = _own_upper(lead)
    if bound < first.margin and not by_others:
        return Decision("keep", subject=first.current, other=strongest, bound=bound)
    own = replace(lead, together=(lead.estimate.low, lead.estimate.high))
    return Decision(
        "cannot_say", subject=strongest, other=first.current, lead=own, by_others=by_others,
        bound=None if math.isinf(bound) else bound,
    )  # fmt: skip


def _without_current(verdict: Verdict, margin: float) -> Decision:
    ranking = verdict.claims[0].ranking
    best = ranking.among_best
    others = [claim.ranking for claim in verdict.claims[1:] if claim.ranking.competitors]
    top = ranking.best
    if best == (top,):
        if any(_is_opposed(ranking, other, top) for other in others):
            return Decision("choose_click_metric")
        nearest = next(iter(ranking.others), None)
        return Decision(
            "use", subject=top, other=nearest, lead=None if nearest is None else ranking.lead(top, nearest)
        )
    baseline = next(iter(ranking.baselines), None)
    if baseline in best and not _ahead_by_others(others, ranking.metrics, (baseline,), margin):
        bound = max(_upper(ranking.lead(name, baseline)) for name in ranking.metrics)
        if bound < margin or best == (baseline,):
            return Decision("baseline_as_good", subject=baseline, bound=None if math.isinf(bound) else bound)
    by_others = _ahead_by_others(others, best, best, margin)
    pairs = [pair for a, b in combinations(best, 2) for pair in ((a, b), (b, a))]
    bounds = {pair: _upper(ranking.lead(*pair)) for pair in pairs}
    if max(bounds.values()) < margin and not by_others:
        return Decision("use_any", names=best, bound=max(bounds.values()))
    of_metrics = [pair for pair in pairs if pair[0] in ranking.metrics] or pairs
    a, b = max(of_metrics, key=lambda pair: bounds[pair])
    bound = bounds[a, b]
    return Decision(
        "cannot_say", subject=a, other=b, lead=ranking.lead(a, b), names=best, by_others=by_others,
        bound=None if math.isinf(bound) else bound,
    )  # fmt: skip


def _is_opposed(first: Ranking, other: Ranking, name: str) -> bool:
    """Whether one click metric has a metric above another, and the other click metric the other way round."""
    if name not in other.competitors:
        return False
    return any((name, one) in first.ahead for one in other.above(name, tuple(other.competitors)))


def _ahead_by_others(
    others: Sequence[Ranking], names: tuple[str, ...], than: tuple[str, ...], margin: float
) -> dict[str, tuple[str, ...]]:
    """Return, by click metric, which names are significantly ahead of others, maybe by the margin."""

    def is_ahead(ranking: Ranking, name: str) -> bool:
        known = [one for one in than if one != name and {one, name} <= set(ranking.competitors)]
        leads = [ranking.lead(name, one) for one in known]
        return any(lead.is_ahead and _upper(lead) >= margin for lead in leads)

    ahead = {other.click: tuple(name for name in names if is_ahead(other, name)) for other in others}
    return {click: own for click, own in ahead.items() if own}
