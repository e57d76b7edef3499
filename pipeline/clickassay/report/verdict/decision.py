"""What to do, why, and what to do next, in sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from clickassay.core.text.words import capital, plural
from clickassay.correlation.uncertainty.intervals import HEAVY_TAIL
from clickassay.correlation.within.groups import NO_TIMES, NO_USERS
from clickassay.findings.claims import Verdict
from clickassay.findings.decision import Decision, Kind
from clickassay.findings.draw import Findings
from clickassay.findings.estimates import not_computed
from clickassay.findings.influence import MOST_WEIGHT
from clickassay.findings.ranking import Lead, Question, highest_possible, prefers_the_same
from clickassay.findings.run import Run
from clickassay.findings.signals import Evidence
from clickassay.health.checks import HealthCheck
from clickassay.metrics.clicks import USES_GRADES, click_metric_named
from clickassay.report.verdict.reasons import PURPOSE, told_of
from clickassay.report.verdict.sentences import scope_text, spoken


@dataclass(frozen=True)
class Advice:
    """A decision in words."""

    kind: Kind  # What is advised.
    question: Question  # What the metric is to be good for: comparing two rankings, or telling queries apart.
    sentence: str  # The advice, without a full stop: the title of the report.
    reasons: tuple[str, ...]  # Why, in a sentence or two; by signal where these disagree.
    next_step: str  # What to do now, in a sentence.
    subject: str | None = None  # The metric or baseline that the advice is about; None if it is about none.
    current: str | None = None  # The metric in use; None if it was not named.
    compared_with: str | None = None  # What the subject is compared with; None if with nothing.
    # difference, low, high, p_adjusted: How much the subject is ahead of that in correlation, the ends of the
    # interval that is said, and the p-value in the family of the decision; None where nothing is compared.
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_adjusted: float | None = None
    bound: float | None = None  # The largest difference that may be there; None where none is known.
    margin: float = 0.0  # A difference in correlation that nobody would act on; 0..1.
    # Why its tests may find too many differences, in sentences; None if there is no sign of that.
    caution: str | None = None
    # periods, folds, moments, side_by_side: `ranking.Shared` of the correlation that it is about; None where
    # another number decides, or nothing.
    periods: int | None = None
    folds: int | None = None
    moments: float | None = None
    side_by_side: float | None = None
    # Which market, depth and judge it is about, and what other judges would decide, if not the same; '' where
    # no session was kept.
    scope: str = ""
    # share, compared_share, best_possible: How often the subject, and what it is compared with, pick the
    # ranking that users prefer, and the most that is possible, 0..1; None over all queries or not known.
    share: float | None = None
    compared_share: float | None = None
    best_possible: float | None = None
    # What each click metric says: `docs/reference/summary.md` has the keys.
    signals: tuple[Mapping[str, Any], ...] = ()
    # The sentence of each other judge whose decision is another.
    other_judges: Mapping[str, str] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """The reasons as one text."""
        return " ".join(self.reasons)

    @property
    def lead(self) -> str:
        """The reason, and the caution if there is one."""
        return " ".join(filter(None, (self.reason, self.caution)))

    @property
    def main_reasons(self) -> tuple[str, ...]:
        """Reasons before a narrow picture: one, or one for each disagreeing signal; none of a bad log."""
        if self.kind == "log_at_fault":
            return ()
        by_signal = self.kind == "choose_click_metric" and self.current is not None
        return self.reasons[: sum(one["is_named"] for one in self.signals) if by_signal else 1]

    @property
    def further_reasons(self) -> str:
        """The other reasons and the caution, as one text; '' without them."""
        return " ".join(filter(None, (*self.reasons[len(self.main_reasons) :], self.caution)))

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """Reasons and caution as paragraphs of a page."""
        return tuple(filter(None, (*self.main_reasons, self.further_reasons)))

    @property
    def content(self) -> dict[str, Any]:
        """The decision in ``summary.json``."""
        told = asdict(self)
        return {("reason" if name == "reasons" else name): told[name] for name in told} | {
            "reason": self.reason
        }


def advise_run(run: Run, findings: Findings) -> Advice:
    """Return the decision of a run in words, and what it would be with the grades of other judges."""
    decision, ranking = findings.decision, findings.verdict.claims[0].ranking
    ceiling = highest_possible(run, ranking)
    own = advise(findings.verdict, decision, findings.health, findings.evidence, ceiling)
    if findings.capped is not None and decision.capped is not None and own.caution is not None:
        told = advise(findings.capped, decision.capped, findings.health).sentence
        own = replace(own, caution=f"{_CAPPED} \u201c{told}.\u201d")
    others = {
        judge: advise(findings.other_judges[judge], other, findings.health).sentence
        for judge, other in decision.other_judges.items()
    }
    reasons = list(own.reasons)
    if findings.opposed is not None and own.kind not in {"log_at_fault", "cannot_decide"}:
        is_queries = own.question == "queries"
        better, worse = map(spoken, findings.opposed if is_queries else reversed(findings.opposed))
        reasons.append(
            f"{capital(better)} is significantly better than {worse} "
            f"{PURPOSE['rankings' if is_queries else 'queries']}, and significantly worse "
            f"{PURPOSE[own.question]}."
        )
    if click_metric_named(run.settings.click_metric[0]) == USES_GRADES:  # the first that was named
        reasons.append(
            f"{USES_GRADES} is computed from the grades and cannot compare metrics: {run.click} decides."
        )
    scope = [scope_text(run, ranking.sample, others)]
    shared = decision.shared
    if shared is not None and not shared.is_one_change:
        periods = plural(shared.periods, "period") if shared.periods else ""
        folds = plural(shared.folds, "group of users", "groups of users") if shared.folds else ""
        if parts := ", ".join(filter(None, (periods, folds))):
            scope.append(f"Effects shared by all queries ({parts}) are removed.")
    where = " ".join(filter(None, scope))
    return replace(own, reasons=tuple(reasons), scope=where, other_judges=others)


_CAPPED = (
    "A few frequent queries dominate this log. With each query capped at "
    f"{100 * MOST_WEIGHT:g}% of the sessions, the result would be:"
)


def advise(
    verdict: Verdict,
    decision: Decision,
    health: Sequence[HealthCheck],
    evidence: Sequence[Evidence] = (),
    ceiling: float | None = None,
) -> Advice:
    """Return a decision in words, of what it is drawn from: see `findings.decision.decide`.

    evidence, ceiling: what signals say, the deciding one first; the highest possible correlation, 0..1.
    """
    sentence, *reasons, step = told_of(verdict, decision, health, evidence, ceiling)
    if decision.kind not in {"log_at_fault", "cannot_decide"}:
        if decision.current is not None and not decision.is_compared:
            reasons.append(f"No correlation could be computed for {decision.current}, your current metric.")
        if verdict.instead is not None:
            reasons.append(verdict.instead)
    lead, shared = decision.lead or Lead(not_computed()), decision.shared
    cautions = [f"Take close calls with care: {HEAVY_TAIL}."] if decision.is_heavy_tailed else []
    if shared is not None and shared.moments is None:
        cautions.append(f"{capital(NO_TIMES)}.")
    if shared is not None and not shared.folds:
        cautions.append(f"{capital(NO_USERS)}.")
    low, high = lead.together
    # correlations as shares of pairs of rankings
    known = verdict.claims[0].ranking.competitors
    values = [
        known[name].value if name in known else None
        for name in (decision.subject or "", decision.other or "")
    ]
    is_share = decision.question == "rankings"
    share, compared, best = tuple(
        prefers_the_same(value) if is_share and value is not None else None for value in (*values, ceiling)
    )
    return Advice(
        decision.kind, decision.question, sentence, tuple(filter(None, reasons)), step,
        decision.subject, decision.current, decision.other, lead.value, low, high, lead.p_adjusted,
        decision.bound, decision.margin, " ".join(cautions) or None,
        **({} if shared is None else asdict(shared)),
        share=share, compared_share=compared, best_possible=best, signals=tuple(map(_as_entry, evidence)),
    )  # fmt: skip


def _as_entry(one: Evidence) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    for name, lead in (("best", one.lead), ("advised", one.advised)):
        low, high = (None, None) if lead is None else lead.together
        ahead, p_adjusted = (None, None) if lead is None else (lead.value, lead.p_adjusted)
        parts |= {
            f"{name}_difference": ahead,
            f"{name}_low": low,
            f"{name}_high": high,
            f"{name}_p_adjusted": p_adjusted,
        }
    return {"click_metric": one.click, "is_named": one.is_named, "kind": one.kind, "best": one.best, **parts}
