"""What to do, why, and what to do next, in sentences."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from clickassay.core.text.words import capital, count, listed, number, plural, signed
from clickassay.correlation.uncertainty.intervals import HEAVY_TAIL
from clickassay.correlation.within.groups import NO_TIMES, NO_USERS
from clickassay.findings.claims import Claim, Verdict
from clickassay.findings.decision import Decision, Kind
from clickassay.findings.draw import Findings
from clickassay.findings.estimates import not_computed
from clickassay.findings.influence import MOST_WEIGHT
from clickassay.findings.ranking import REACH, WITHIN_QUERIES, Lead, Question, Ranking
from clickassay.findings.run import Run
from clickassay.health.checks import HealthCheck
from clickassay.metrics.clicks import USES_GRADES, click_metric_named
from clickassay.report.tables import caution_reason, p_text
from clickassay.report.verdict.sentences import (
    PREDICTED,
    adds_text,
    all_spoken,
    approximate_count,
    few_spoken,
    interval_text,
    rounded_out,
    rounded_up,
    scope_text,
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


Told = tuple[str, ...]
"""A sentence without its full stop, reasons as sentences, and the next step."""


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
    decision = findings.decision
    own = advise(findings.verdict, decision, findings.health)
    if findings.capped is not None and decision.capped is not None and own.caution is not None:
        told = advise(findings.capped, decision.capped, findings.health).sentence
        own = replace(own, caution=f"{_CAPPED} \u201c{told}.\u201d")
    others = {
        judge: advise(findings.other_judges[judge], other, findings.health).sentence
        for judge, other in decision.other_judges.items()
    }
    reasons = [own.reason]
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
            f"{USES_GRADES} is made of the grades, so it compares no metrics: {run.click} decides."
        )
    scope = [scope_text(run, findings.verdict.claims[0].ranking.sample, others)]
    shared = decision.shared
    if shared is not None and not shared.is_one_change:
        periods = plural(shared.periods, "period") if shared.periods else ""
        folds = plural(shared.folds, "group of users", "groups of users") if shared.folds else ""
        if parts := " and ".join(filter(None, (periods, folds))):
            scope.append(f"Taken out: what all queries share in {parts}.")
    reason, where = (" ".join(filter(None, parts)) for parts in (reasons, scope))
    return replace(own, reason=reason, scope=where, other_judges=others)


_CAPPED = (
    "Sessions per query are heavy-tailed: if each query counted with at most "
    f"{100 * MOST_WEIGHT:g} % of all sessions, it would be:"
)


def advise(verdict: Verdict, decision: Decision, health: Sequence[HealthCheck]) -> Advice:
    """Return a decision in words.

    verdict, health: what it is drawn from: see `findings.decision.decide`.
    """
    if decision.kind == "log_at_fault":
        told: Told = (f"The log has a fault: {health[0].fault}", health[0].sentence, health[0].remedy)
    elif decision.kind == "cannot_decide":
        told = _undecided(verdict.claims[0])
    else:
        told = _TOLD[decision.kind](verdict, decision)
    sentence, *reasons, step = told
    if decision.kind not in {"log_at_fault", "cannot_decide"}:
        if decision.current is not None and not decision.is_compared:
            reasons.append(f"{decision.current}, which is in use, has no correlation here.")
        if verdict.instead is not None:
            reasons.append(verdict.instead)
    lead, shared = decision.lead or Lead(not_computed()), decision.shared
    cautions = [f"Take close calls with care: {HEAVY_TAIL}."] if decision.is_heavy_tailed else []
    if shared is not None and shared.moments is None:
        cautions.append(f"{capital(NO_TIMES)}.")
    if shared is not None and not shared.folds:
        cautions.append(f"{capital(NO_USERS)}.")
    low, high = lead.together
    return Advice(
        decision.kind, decision.question, sentence, " ".join(filter(None, reasons)), step,
        decision.subject, decision.current, decision.other, lead.value, low, high, lead.p_adjusted,
        decision.bound, decision.margin, " ".join(cautions) or None,
        **({} if shared is None else asdict(shared)),
    )  # fmt: skip


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
    texts = []
    for one in (claim.ranking for claim in verdict.claims[1:]):
        if {decision.subject, decision.other} <= set(one.competitors):
            lead = one.lead(decision.subject or "", decision.other or "")
            does = "says the same" if lead.is_ahead else "does not contradict"
            value = f"{signed(lead.value or 0.0)}, {interval_text(lead.estimate)}"
            texts.append(f"{one.click} {does} ({value})")
    return (f"{capital(listed(texts))}.",) if texts else ()


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
    ranking, current, bound = verdict.claims[0].ranking, decision.current or "", decision.bound
    level = ranking.not_above(current, ranking.baselines)
    if bound is None:
        why = "there is nothing else"
    elif bound < 0:
        why = "all others are worse"
    else:
        why = f"nothing is better by more than {rounded_up(bound)}" if bound else "nothing is better"
    nearest = ""
    if decision.other is not None and bound is not None:
        other = spoken(decision.other)
        if bound < 0:
            least = number(math.floor(round(-bound * 1000, 6)) / 1000)
            nearest = f"The nearest, {other}, is lower by {least} at least."
        else:
            end = f"{rounded_up(bound)} is the upper end of the 95 % interval of {other}."
            nearest = f"{end} {_margin(ranking, decision)}".strip()
    return (
        f"Keep {current}: {PURPOSE[decision.question]} {why}",
        nearest,
        f"{current} is not significantly better than {all_spoken(level, 'or')} alone." if level else "",
        "Change nothing; run it again when rankings, users or judges change.",
    )


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
    ranking, purpose = verdict.claims[0].ranking, PURPOSE[decision.question]
    what = f"whether to leave {decision.current}" if decision.is_compared else "which metric to use"
    seen, lead, one_moment = "", decision.lead, _at_one_moment(decision)
    if lead is not None and lead.value is not None:
        pair = f"{spoken(decision.subject or '')} minus {spoken(decision.other or '')}"
        number_of = _NUMBER[decision.question].format(ranking.click)
        seen = f"In {number_of}, {pair} is {signed(lead.value)} ({_bounds(lead)})."
    if decision.is_taken_back:
        name = decision.subject or decision.names[0]
        value = ranking.competitors[name].estimate
        return (
            f"Cannot say {what} {purpose}: all lists changed at one moment",
            f"Queries whose list improved more by {spoken(name)} gained more in {ranking.click} "
            f"({number(value.value)}, {interval_text(value)}).",
            seen,
            "That is evidence only if nothing else that changed at that moment favoured these queries.",
            _SETTLE_CHANGE,
        )
    if decision.unproven is not None:
        why = f"{spoken(decision.unproven)} is not shown to be better than chance {purpose}"
        return f"Cannot say {what}: {why}", seen, one_moment, _settled(decision)
    alone = [
        f"by {click}, {few_spoken(names)} {'is' if len(names) == 1 else 'are'} significantly better"
        for click, names in decision.by_others.items()
    ]
    than = decision.other if decision.is_compared else "others among the best"
    by_others = f"{capital(listed(alone))} than {than}." if alone else ""
    if decision.bound is not None and decision.bound < decision.margin:
        show = "shows" if len(decision.by_others) == 1 else "show"
        why = f"{listed(decision.by_others)} {show} a difference, {ranking.click} shows none"
        return f"Cannot say {what} {purpose}: {why}", by_others, _AGREE
    rival = "" if decision.is_compared else f" than {spoken(decision.other or '')}"
    by = "" if decision.bound is None else f" by up to {rounded_up(decision.bound)}"
    below = tuple(name for name in ranking.metrics if name not in decision.names)
    best = ""
    if below and not decision.is_compared:
        best = f"Among the best, significantly below none: {few_spoken(decision.names)}."
        best = f"{best} {_too(below, 'significantly worse')}"
    return (
        f"Cannot say {what}: {purpose} {spoken(decision.subject or '')} may be better{rival}{by}",
        seen,
        best,
        by_others,
        one_moment,
        _settled(decision),
    )


_SETTLE_CHANGE = "Run an A/B test, or wait for another release and run again: either settles it."


def _at_one_moment(decision: Decision) -> str:
    if decision.shared is None or not decision.shared.is_one_change:
        return ""
    return "All lists changed at one moment, so whatever else changed then may be in these numbers."


def _settled(decision: Decision) -> str:
    """Say what would settle it: how many judged queries bring the difference above 0, or below the margin."""
    if _at_one_moment(decision):
        return _SETTLE_CHANGE
    what = "queries with two judged lists" if decision.question == "rankings" else "judged queries"
    lead = decision.lead
    if lead is not None and (high := lead.together[1]) is not None:
        value = lead.value or 0.0
        room = decision.margin - value if value < decision.margin else value
        # an interval narrows with the root of the number of queries
        needed = lead.n_queries * ((high - value) / room) ** 2 if room > 0 else math.inf
        if lead.n_queries < needed <= REACH * lead.n_queries:
            return (
                f"Judge more: it takes at least {approximate_count(needed)} {what} to settle it; there are "
                f"{count(lead.n_queries)}."
            )
    return f"More {what} would settle it: judge what the report names first, or take a longer log."


_AGREE = "Agree on the click metric that means success here, and name it first."


def _depends(verdict: Verdict, decision: Decision) -> Told:
    """Say what is best; or all that are above the metric in use, by the tests of the decision."""
    current = decision.current if decision.is_compared else None
    about, which, each = "What to use", "Among the best", []
    if current is not None:
        about, which = f"Whether to leave {current}", f"Significantly better than {current}"
    for ranking in (claim.ranking for claim in verdict.claims):
        names = ranking.among_best
        if current is not None:
            leads = ranking.against(current) if current in ranking.competitors else {}
            names = tuple(name for name, lead in leads.items() if lead.is_ahead)
        each.append(f"{few_spoken(names) or 'nothing'} by {ranking.click}")
    return (
        f"{about} depends on the click metric {PURPOSE[decision.question]}",
        f"{which}: {'; '.join(each)}.",
        _at_one_moment(decision),
        _AGREE,
    )


# ---- no metric in use -----------------------------------------------------------------------------


def _use(verdict: Verdict, decision: Decision) -> Told:
    ranking, subject = verdict.claims[0].ranking, decision.subject or ""
    own = ranking.competitors[subject]
    what = _NUMBER[decision.question].format(ranking.click)
    text = f"Its {what} is {number(own.value)} ({interval_text(own.estimate)})"
    after = None if decision.other is None else ranking.competitors[decision.other]
    following = "" if after is None else f"; the next, {spoken(after.name)}, has {number(after.value)}"
    others = tuple(name for name in ranking.competitors if name != subject)
    why = "it is significantly better than all others" if others else "there is nothing else"
    if ranking.not_above(subject, others):
        why = "each other one is significantly worse than it or than another"
    return (
        f"Use {subject}: {PURPOSE[decision.question]} {why}",
        f"{text}{following}.",
        *_by_others(verdict, decision),
        f"{_DOING[decision.question]} by {subject}, and name it with --current in the next run.",
    )


def _baseline_as_good(verdict: Verdict, decision: Decision) -> Told:
    ranking, baseline = verdict.claims[0].ranking, decision.subject or ""
    adding = ranking.adding(baseline, ranking.metrics)
    purpose, bound = PURPOSE[decision.question], decision.bound
    as_good = f"is better than every metric {purpose}"
    if bound is not None and bound >= 0:
        by = f" by more than {rounded_up(bound)}" if bound else ""
        as_good = f"does as well {purpose}: no metric is better{by}"
    step = "Keep another metric only if you have another reason to."
    if adding is not None:
        step = f"Look at {adding} next to {spoken(baseline)} {purpose}."
    return (
        f"{capital(spoken(baseline))} alone {as_good}",
        adds_text(ranking, baseline),
        _margin(ranking, decision),
        step,
    )


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


# ---- nothing can be decided -----------------------------------------------------------------------


def _undecided(claim: Claim) -> Told:
    """Say why the tests of a click metric decide nothing, and what would help."""
    ranking = claim.ranking
    if claim.kind == "no_correlation":
        why = ranking.reason or "no value"
        step = "Judge lists whole: the report counts the sessions that are left out, and why."
        if ranking.sample is not None:
            why = f"there is no correlation ({ranking.reason})"
            step = "Judge several lists that differ in grades and in clicks."
        return f"This log cannot decide: {why}", step
    more = "Judge more queries: intervals get narrower."
    if claim.kind == "not_tested":
        return "This log cannot decide: no correlation could be tested", more
    if claim.kind != "nothing_predicts":
        caution = ranking.competitors[ranking.highest].estimate.caution
        return f"This log cannot decide: its intervals are not reliable ({caution_reason(caution)})", more
    metrics = [ranking.competitors[name] for name in ranking.metrics]
    if all(one.is_below_nothing for one in metrics):
        return (
            f"This log cannot decide: {ranking.click} falls as every metric rises",
            f"All metrics are significantly below noise; the highest has {number(metrics[0].value)}.",
            "Check that the highest grade is the best: else judges and users disagree.",
        )
    caution = next((one.estimate.caution for one in metrics if one.estimate.caution), None)
    ends = [end for one in metrics if (end := one.together[1]) is not None]
    ruled_out = ""  # none by an interval that is not reliable
    if caution:
        ruled_out = (
            f"Nor is any correlation ruled out: intervals are not reliable ({caution_reason(caution)})."
        )
    elif len(ends) == len(metrics):
        highest, queries = rounded_up(max(*ends, 0.0)), count(ranking.n_queries)
        ruled_out = f"A correlation of a metric above {highest} is ruled out by {queries} queries."
    predicted = ranking.click
    if ranking.quantity == WITHIN_QUERIES:
        predicted = f"{PREDICTED[ranking.quantity]}, by {ranking.click}"
    return (
        f"This log cannot decide: no metric can be shown to predict {predicted}",
        ruled_out,
        "If smaller correlations are of no use, look at the judgments; else judge more queries.",
    )
