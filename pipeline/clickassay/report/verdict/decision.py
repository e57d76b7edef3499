"""What to do, why, and what to do next, in sentences."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from clickassay.core.text.words import capital, count, listed, number, plural, signed
from clickassay.correlation.uncertainty.intervals import HEAVY_TAIL
from clickassay.correlation.within.groups import NO_TIMES, NO_USERS
from clickassay.findings.claims import Verdict
from clickassay.findings.decision import Decision, Kind
from clickassay.findings.draw import Findings
from clickassay.findings.estimates import not_computed
from clickassay.findings.influence import MOST_WEIGHT
from clickassay.findings.ranking import REACH, Lead, Question, Ranking
from clickassay.findings.run import Run
from clickassay.health.checks import HealthCheck
from clickassay.metrics.clicks import USES_GRADES, click_metric_named
from clickassay.report.cells import p_text
from clickassay.report.verdict.sentences import scope_text
from clickassay.report.verdict.undecided import Told, undecided
from clickassay.report.verdict.words import (
    adds_text,
    all_spoken,
    approximate_count,
    few_spoken,
    interval_text,
    rounded_out,
    rounded_up,
    spoken,
)

PURPOSE: Mapping[Question, str] = {
    "rankings": "for comparing two rankings",
    "queries": "for telling good queries from bad",
}
"""What a metric is to be good for."""

_DOING: Mapping[Question, str] = {
    "rankings": "Compare rankings",
    "queries": "Look for bad queries",
}
_NUMBER: Mapping[Question, str] = {
    "rankings": "correlation within queries with {}",
    "queries": "correlation with {} over all queries",
}


@dataclass(frozen=True)
class Advice:
    """A decision in words."""

    kind: Kind  # What is advised.
    question: Question  # What the metric is to be good for: comparing two rankings, or telling queries apart.
    sentence: str  # The advice, without a full stop: the title of the report.
    reason: str  # Why, in a sentence or two.
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
    # The sentence of each other judge whose decision is another.
    other_judges: Mapping[str, str] = field(default_factory=dict)

    @property
    def lead(self) -> str:
        """The reason, and the caution if there is one."""
        return " ".join(filter(None, (self.reason, self.caution)))


def advise_run(run: Run, findings: Findings) -> Advice:
    """Return the decision of a run in words, and what it would be by other judges."""
    own = advise(findings.verdict, findings.decision, findings.health)
    if findings.capped is not None and findings.decision.capped is not None and own.caution is not None:
        told = advise(findings.capped, findings.decision.capped, findings.health).sentence
        own = replace(own, caution=f"{_CAPPED} \u201c{told}.\u201d")
    others = {
        judge: advise(findings.other_judges[judge], other, findings.health).sentence
        for judge, other in findings.decision.other_judges.items()
    }
    is_told = own.kind not in {"log_at_fault", "cannot_decide"}
    reasons = (own.reason, _opposed(findings.opposed, own.question) if is_told else "", _passed_over(run))
    sample = findings.verdict.claims[0].ranking.sample
    scope = " ".join(filter(None, (scope_text(run, sample, others), _without(findings.decision))))
    return replace(own, reason=" ".join(filter(None, reasons)), scope=scope, other_judges=others)


def _passed_over(run: Run) -> str:
    """Say that the first click metric that was named decides nothing."""
    if click_metric_named(run.settings.click_metric[0]) != USES_GRADES:
        return ""
    return f"{USES_GRADES} is made of the grades, so it compares no metrics: {run.click} decides."


def _without(decision: Decision) -> str:
    """Say what the correlation is without: what periods and users have in common over all queries."""
    shared = decision.shared
    if shared is None or shared.is_one_change:
        return ""
    periods = plural(shared.periods, "period") if shared.periods else ""
    folds = plural(shared.folds, "group of users", "groups of users") if shared.folds else ""
    parts = " and ".join(filter(None, (periods, folds)))
    return f"Taken out: what all queries share in {parts}." if parts else ""


_CAPPED = (
    "Sessions per query are heavy-tailed: if each query counted with at most "
    f"{100 * MOST_WEIGHT:g} % of all sessions, it would be:"
)


def _opposed(pair: tuple[str, str] | None, question: Question) -> str:
    """Say that one metric is better for one question, and worse for the other."""
    if pair is None:
        return ""
    better, worse = map(spoken, pair if question == "queries" else reversed(pair))
    other = PURPOSE["rankings" if question == "queries" else "queries"]
    return (
        f"{capital(better)} is significantly better than {worse} {other}, and significantly worse "
        f"{PURPOSE[question]}."
    )


def advise(verdict: Verdict, decision: Decision, health: Sequence[HealthCheck]) -> Advice:
    """Return a decision in words.

    verdict, health: what it is drawn from: see `findings.decision.decide`.
    """
    sentence, *reasons, step = _told(verdict, decision, health)
    is_told = decision.kind not in {"log_at_fault", "cannot_decide"}
    if is_told and decision.current is not None and not decision.is_compared:
        reasons.append(f"{decision.current}, which is in use, has no correlation here.")
    if is_told and verdict.instead is not None:
        reasons.append(verdict.instead)
    lead, shared = decision.lead or Lead(not_computed()), decision.shared
    low, high = lead.together
    return Advice(
        decision.kind, decision.question, sentence, " ".join(filter(None, reasons)), step,
        decision.subject, decision.current, decision.other, lead.value, low, high, lead.p_adjusted,
        decision.bound, decision.margin, " ".join(_cautions(decision)) or None,
        **({} if shared is None else asdict(shared)),
    )  # fmt: skip


def _cautions(decision: Decision) -> Iterator[str]:
    shared = decision.shared
    if decision.is_heavy_tailed:
        yield f"Take close calls with care: {HEAVY_TAIL}."
    if shared is not None and shared.moments is None:
        yield f"{capital(NO_TIMES)}."
    if shared is not None and not shared.folds:
        yield f"{capital(NO_USERS)}."


def _told(verdict: Verdict, decision: Decision, health: Sequence[HealthCheck]) -> Told:
    claim = verdict.claims[0]
    if decision.kind == "log_at_fault":
        wrong = health[0]
        return f"The log has a fault: {wrong.fault}", wrong.sentence, wrong.remedy
    if decision.kind == "cannot_decide":
        return undecided(claim)
    return _TOLD[decision.kind](verdict, decision)


# ---- a metric in use ------------------------------------------------------------------------------


def _switch(verdict: Verdict, decision: Decision) -> Told:
    ranking, current = verdict.claims[0].ranking, decision.current or ""
    subject = decision.subject or ""
    level = ranking.not_above(subject, ranking.baselines)
    return (
        f"Switch to {subject}: {PURPOSE[decision.question]} it is significantly better than {current}",
        _higher(ranking, decision),
        _too(decision.names, f"significantly better than {current}, too"),
        f"{subject} is not significantly better than {all_spoken(level, 'or')} alone." if level else "",
        *_by_others(verdict, decision),
        f"Use {subject} next to {current} until both have seen the next change of the ranker, then alone.",
    )


def _too(names: tuple[str, ...], what: str) -> str:
    return f"{capital(few_spoken(names))} {'is' if len(names) == 1 else 'are'} {what}." if names else ""


def _higher(ranking: Ranking, decision: Decision) -> str:
    lead = decision.lead or Lead(not_computed())
    what = _NUMBER[decision.question].format(ranking.click)
    return f"Its {what} is higher by {number(lead.value)} ({_bounds(lead)})."


def _bounds(lead: Lead) -> str:
    """Return the interval that is meant; with the p-value in the family where the two tests differ."""
    low, high = lead.together
    if low is None or high is None:
        return "no interval"
    p = f", p {p_text(lead.p_adjusted)} by Holm" if lead.is_significant and low <= 0 <= high else ""
    is_plain = lead.together == (lead.estimate.low, lead.estimate.high)
    what = "95 % interval" if is_plain else "interval for all at once"
    return f"{what} {rounded_out(low, high)}{p}"


def _by_others(verdict: Verdict, decision: Decision) -> tuple[str, ...]:
    """Say what other click metrics say of the same difference."""
    names = {decision.subject, decision.other}
    rankings = [one.ranking for one in verdict.claims[1:] if names <= set(one.ranking.competitors)]
    texts = [
        f"{one.click} {_says(one.lead(decision.subject or '', decision.other or ''))}" for one in rankings
    ]
    return (f"{capital(listed(texts))}.",) if texts else ()


def _says(lead: Lead) -> str:
    does = "says the same" if lead.is_ahead else "does not contradict"
    return f"{does} ({signed(lead.value or 0.0)}, {interval_text(lead.estimate)})"


def _baseline_better(verdict: Verdict, decision: Decision) -> Told:
    ranking = verdict.claims[0].ranking
    current, baseline = decision.current, spoken(decision.subject or "")
    return (
        f"{capital(baseline)} alone is significantly better than {current} {PURPOSE[decision.question]}",
        _higher(ranking, decision),
        adds_text(ranking, decision.subject or "", [current or ""]),
        f"Look at {baseline} next to {current} {PURPOSE[decision.question]}.",
    )


def _keep(verdict: Verdict, decision: Decision) -> Told:
    ranking, current = verdict.claims[0].ranking, decision.current or ""
    level = ranking.not_above(current, ranking.baselines)
    return (
        f"Keep {current}: {PURPOSE[decision.question]} {_no_better(decision.bound)}",
        _nearest(ranking, decision),
        f"{current} is not significantly better than {all_spoken(level, 'or')} alone." if level else "",
        "Change nothing; run it again when rankings, users or judges change.",
    )


def _nearest(ranking: Ranking, decision: Decision) -> str:
    if decision.other is None or decision.bound is None:
        return ""
    other = spoken(decision.other)
    if decision.bound < 0:
        least = number(math.floor(round(-decision.bound * 1000, 6)) / 1000)
        return f"The nearest, {other}, is lower by {least} at least."
    bound = f"{rounded_up(decision.bound)} is the upper end of the 95 % interval of {other}."
    return f"{bound} {_margin(ranking, decision)}".strip()


def _no_better(bound: float | None) -> str:
    if bound is None:
        return "there is nothing else"
    if bound < 0:
        return "all others are worse"
    return f"nothing is better by more than {rounded_up(bound)}" if bound else "nothing is better"


def _margin(ranking: Ranking, decision: Decision) -> str:
    """Say which differences count as none, and what that means at the correlations that there are."""
    if not decision.margin:
        return ""
    text = f"Differences below {decision.margin:g} count as none"
    if decision.question == "queries":
        return f"{text}."
    reference = (decision.is_compared and decision.current) or ranking.highest
    value = ranking.competitors[reference].value
    ends = (math.asin(min(1.0, end)) for end in (value + decision.margin, value))
    share = 100 * (next(ends) - next(ends)) / math.pi
    return f"{text}: about {number(share, 1)} of 100 pairs of lists in another order."


def _open(verdict: Verdict, decision: Decision) -> Told:
    """Say what may be better, and what would settle it."""
    ranking = verdict.claims[0].ranking
    what = f"whether to leave {decision.current}" if decision.is_compared else "which metric to use"
    if decision.is_taken_back:
        return (
            f"Cannot say {what} {PURPOSE[decision.question]}: all lists changed at one moment",
            *_evidence(ranking, decision),
            _SETTLE_CHANGE,
        )
    if decision.unproven is not None:
        return (
            f"Cannot say {what}: {spoken(decision.unproven)} is not shown to be better than chance "
            f"{PURPOSE[decision.question]}",
            _seen(ranking, decision),
            _at_one_moment(decision),
            _settled(decision),
        )
    if decision.bound is not None and decision.bound < decision.margin:
        show = "shows" if len(decision.by_others) == 1 else "show"
        why = f"{listed(decision.by_others)} {show} a difference, {ranking.click} shows none"
        return f"Cannot say {what} {PURPOSE[decision.question]}: {why}", _alone(decision), _AGREE
    return (
        f"Cannot say {what}: {PURPOSE[decision.question]} {_may(decision)}",
        _seen(ranking, decision),
        _best_and_worse(ranking, decision),
        _alone(decision),
        _at_one_moment(decision),
        _settled(decision),
    )


_SETTLE_CHANGE = "Run an A/B test, or wait for another release and run again: either settles it."


def _evidence(ranking: Ranking, decision: Decision) -> Told:
    """Say what a log shows whose lists changed at one moment, and when that is evidence."""
    name = decision.subject or decision.names[0]
    value = ranking.competitors[name].estimate
    ends = "no interval" if not value.has_interval else interval_text(value)
    return (
        f"Queries whose list improved more by {spoken(name)} gained more in {ranking.click} "
        f"({number(value.value)}, {ends}).",
        _seen(ranking, decision),
        "That is evidence only if nothing else that changed at that moment favoured these queries.",
    )


def _at_one_moment(decision: Decision) -> str:
    if decision.shared is None or not decision.shared.is_one_change:
        return ""
    return "All lists changed at one moment, so whatever else changed then may be in these numbers."


def _may(decision: Decision) -> str:
    than = "" if decision.is_compared else f" than {spoken(decision.other or '')}"
    by = "" if decision.bound is None else f" by up to {rounded_up(decision.bound)}"
    return f"{spoken(decision.subject or '')} may be better{than}{by}"


def _best_and_worse(ranking: Ranking, decision: Decision) -> str:
    below = tuple(name for name in ranking.metrics if name not in decision.names)
    if decision.is_compared or not below:
        return ""
    best = f"Among the best, significantly below none: {few_spoken(decision.names)}."
    return f"{best} {_too(below, 'significantly worse')}"


def _seen(ranking: Ranking, decision: Decision) -> str:
    lead = decision.lead
    if lead is None or lead.value is None:
        return ""
    pair = f"{spoken(decision.subject or '')} minus {spoken(decision.other or '')}"
    what = _NUMBER[decision.question].format(ranking.click)
    return f"In {what}, {pair} is {signed(lead.value)} ({_bounds(lead)})."


def _alone(decision: Decision) -> str:
    """Say what is significant by other click metrics."""
    than = decision.other if decision.is_compared else "others among the best"
    texts = [
        f"by {click}, {few_spoken(names)} {'is' if len(names) == 1 else 'are'} significantly better"
        for click, names in decision.by_others.items()
    ]
    return f"{capital(listed(texts))} than {than}." if texts else ""


def _settled(decision: Decision) -> str:
    """Say what would settle it: how many judged queries bring the difference above 0, or below the margin."""
    if _at_one_moment(decision):
        return _SETTLE_CHANGE
    what = "queries with two judged lists" if decision.question == "rankings" else "judged queries"
    lead = decision.lead
    needed = None if lead is None else _queries_to_settle(lead, decision.margin)
    if lead is None or needed is None:
        return f"More {what} would settle it: judge what the report names first, or take a longer log."
    return (
        f"Judge more: it takes at least {approximate_count(needed)} {what} to settle it; there are "
        f"{count(lead.n_queries)}."
    )


def _queries_to_settle(lead: Lead, margin: float) -> float | None:
    """Return how many queries narrow the interval of a difference enough; it narrows with their root."""
    value, high = lead.value or 0.0, lead.together[1]
    if high is None:
        return None
    room = margin - value if value < margin else value
    needed = lead.n_queries * ((high - value) / room) ** 2 if room > 0 else math.inf
    return needed if lead.n_queries < needed <= REACH * lead.n_queries else None


_AGREE = "Agree on the click metric that means success here, and name it first."


def _depends(verdict: Verdict, decision: Decision) -> Told:
    current = decision.current if decision.is_compared else None
    about = "What to use" if current is None else f"Whether to leave {current}"
    each = (
        f"{few_spoken(_ahead(claim.ranking, current)) or 'nothing'} by {claim.ranking.click}"
        for claim in verdict.claims
    )
    which = "Among the best" if current is None else f"Significantly better than {current}"
    return (
        f"{about} depends on the click metric {PURPOSE[decision.question]}",
        f"{which}: {'; '.join(each)}.",
        _at_one_moment(decision),
        _AGREE,
    )


def _ahead(ranking: Ranking, current: str | None) -> tuple[str, ...]:
    """Return the best; or all that are above the metric in use, by the tests of the decision."""
    if current is None:
        return ranking.among_best
    if current not in ranking.competitors:
        return ()
    return tuple(name for name, lead in ranking.against(current).items() if lead.is_ahead)


# ---- no metric in use -----------------------------------------------------------------------------


def _use(verdict: Verdict, decision: Decision) -> Told:
    ranking, subject = verdict.claims[0].ranking, decision.subject or ""
    own = ranking.competitors[subject]
    what = _NUMBER[decision.question].format(ranking.click)
    text = f"Its {what} is {number(own.value)} ({interval_text(own.estimate)})"
    after = None if decision.other is None else ranking.competitors[decision.other]
    following = "" if after is None else f"; the next, {spoken(after.name)}, has {number(after.value)}"
    return (
        f"Use {subject}: {PURPOSE[decision.question]} {_ahead_of_all(ranking, subject)}",
        f"{text}{following}.",
        *_by_others(verdict, decision),
        f"{_DOING[decision.question]} by {subject}, and name it with --current in the next run.",
    )


def _ahead_of_all(ranking: Ranking, subject: str) -> str:
    """Say why a metric is to be used: it is above all others, or they are all below something."""
    others = tuple(name for name in ranking.competitors if name != subject)
    if not others:
        return "there is nothing else"
    if ranking.not_above(subject, others):
        return "each other one is significantly worse than it or than another"
    return "it is significantly better than all others"


def _baseline_as_good(verdict: Verdict, decision: Decision) -> Told:
    ranking, baseline = verdict.claims[0].ranking, decision.subject or ""
    adding = ranking.adding(baseline, ranking.metrics)
    step = "Keep another metric only if you have another reason to."
    if adding is not None:
        step = f"Look at {adding} next to {spoken(baseline)} {PURPOSE[decision.question]}."
    return (
        f"{capital(spoken(baseline))} alone {_as_good(decision)}",
        adds_text(ranking, baseline),
        _margin(ranking, decision),
        step,
    )


def _as_good(decision: Decision) -> str:
    purpose = PURPOSE[decision.question]
    if decision.bound is None or decision.bound < 0:
        return f"is better than every metric {purpose}"
    by = f" by more than {rounded_up(decision.bound)}" if decision.bound else ""
    return f"does as well {purpose}: no metric is better{by}"


def _use_any(verdict: Verdict, decision: Decision) -> Told:
    ranking = verdict.claims[0].ranking
    below = tuple(name for name in ranking.metrics if name not in decision.names)
    return (
        f"Use any of {all_spoken(decision.names)}: {PURPOSE[decision.question]} they are equal within "
        f"{rounded_up(decision.bound or 0.0)}",
        _too(below, "significantly worse"),
        _margin(ranking, decision),
        "Take the metric that your team knows.",
    )


_TOLD: Mapping[Kind, Callable[[Verdict, Decision], Told]] = {
    "choose_click_metric": _depends,
    "switch": _switch,
    "baseline_better": _baseline_better,
    "keep": _keep,
    "use": _use,
    "baseline_as_good": _baseline_as_good,
    "use_any": _use_any,
    "cannot_say": _open,
}
