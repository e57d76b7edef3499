"""What to do, why, and what to do next, in sentences."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from clickassay.core.text.words import capital, count, listed, number, signed, span
from clickassay.correlation.uncertainty.jackknife import HEAVY_TAIL
from clickassay.findings.claims import Claim, Verdict
from clickassay.findings.decision import Decision, Kind
from clickassay.findings.draw import Findings
from clickassay.findings.estimates import not_computed
from clickassay.findings.ranking import REACH, WITHIN_QUERIES, Lead, Question, Ranking
from clickassay.findings.run import Run
from clickassay.health.checks import HealthCheck
from clickassay.report.cells import caution_reason, p_text
from clickassay.report.verdict.sentences import PREDICTED, scope_text
from clickassay.report.verdict.words import (
    all_spoken,
    approximate_count,
    few_spoken,
    interval_text,
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
    """A decision in words.

    Attributes
    ----------
    kind
        What is advised.
    question
        What the metric is to be good for: comparing two rankings, or telling queries apart.
    sentence
        The advice, without a full stop: the title of the report.
    reason
        Why, in a sentence or two.
    next_step
        What to do now, in a sentence.
    subject
        The metric or baseline that the advice is about; None if it is about none.
    current
        The metric in use; None if it was not named.
    compared_with
        What the subject is compared with; None if with nothing.
    difference, low, high, p_adjusted
        How much the subject is ahead of that in correlation, the ends of its interval and the p-value in the
        family of the decision; None where nothing is compared.
    bound
        The largest difference that may be there; None where none is known.
    margin
        A difference in correlation that nobody would act on; 0..1.
    caution
        Why its tests may find too many differences, as a sentence; None if there is no sign of that.
    scope
        Which market, depth and judge it is about, and what other judges would decide, if not the same; ''
        where no session was kept.
    other_judges
        The sentence of each other judge whose decision is another.
    """

    kind: Kind
    question: Question
    sentence: str
    reason: str
    next_step: str
    subject: str | None = None
    current: str | None = None
    compared_with: str | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_adjusted: float | None = None
    bound: float | None = None
    margin: float = 0.0
    caution: str | None = None
    scope: str = ""
    other_judges: Mapping[str, str] = field(default_factory=dict)

    @property
    def lead(self) -> str:
        """The reason, and the caution if there is one."""
        return " ".join(filter(None, (self.reason, self.caution)))


def advise_run(run: Run, findings: Findings) -> Advice:
    """Return the decision of a run in words, and what it would be by other judges."""
    own = advise(findings.verdict, findings.decision, findings.health)
    others = {
        judge: advise(findings.other_judges[judge], other, findings.health).sentence
        for judge, other in findings.decision.other_judges.items()
    }
    is_told = own.kind not in {"log_at_fault", "cannot_decide"}
    reasons = (own.reason, _opposed(findings.opposed, own.question) if is_told else "")
    sample = findings.verdict.claims[0].ranking.sample
    scope = scope_text(run, sample, others)
    return replace(own, reason=" ".join(filter(None, reasons)), scope=scope, other_judges=others)


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

    Parameters
    ----------
    verdict, health
        What it is drawn from: see `findings.decision.decide`.
    """
    sentence, *reasons, step = _told(verdict, decision, health)
    is_told = decision.kind not in {"log_at_fault", "cannot_decide"}
    if is_told and decision.current is not None and not decision.is_compared:
        reasons.append(f"{decision.current}, which is in use, has no correlation here.")
    if is_told and verdict.instead is not None:
        reasons.append(verdict.instead)
    caution = f"Take close calls with care: {HEAVY_TAIL}." if decision.is_heavy_tailed else None
    lead = decision.lead or Lead(not_computed())
    low, high = lead.together
    return Advice(
        decision.kind, decision.question, sentence, " ".join(filter(None, reasons)), step,
        decision.subject, decision.current, decision.other, lead.value, low, high, lead.p_adjusted,
        decision.bound, decision.margin, caution,
    )  # fmt: skip


Told = tuple[str, ...]
"""A sentence without its full stop, reasons as sentences, and the next step."""


def _told(verdict: Verdict, decision: Decision, health: Sequence[HealthCheck]) -> Told:
    claim = verdict.claims[0]
    if decision.kind == "log_at_fault":
        wrong = health[0]
        return f"The log has a fault: {wrong.fault}", wrong.sentence, wrong.remedy
    if decision.kind == "cannot_decide":
        return _undecided(claim)
    return _TOLD[decision.kind](verdict, decision)


# ---- nothing can be decided -----------------------------------------------------------------------


def _undecided(claim: Claim) -> Told:
    """Say why the tests of the headline click metric decide nothing, and what would help."""
    ranking = claim.ranking
    if claim.kind == "no_correlation":
        return _no_value(ranking)
    more = "Judge more queries: intervals get narrower."
    if claim.kind == "not_tested":
        return "This log cannot decide: no correlation could be tested", more
    if claim.kind == "nothing_predicts":
        return _nothing_predicts(ranking)
    caution = ranking.competitors[ranking.highest].estimate.caution
    return f"This log cannot decide: its intervals are not reliable ({caution_reason(caution)})", more


def _no_value(ranking: Ranking) -> Told:
    if ranking.sample is None:
        why = ranking.reason or "no value"
        step = "Judge lists whole: the report counts the sessions that are left out, and why."
    else:
        why = f"there is no correlation ({ranking.reason})"
        step = "Judge several lists that differ in grades and in clicks."
    return f"This log cannot decide: {why}", step


def _predicted(ranking: Ranking) -> str:
    is_within = ranking.quantity == WITHIN_QUERIES
    return f"{PREDICTED[ranking.quantity]}, by {ranking.click}" if is_within else ranking.click


def _nothing_predicts(ranking: Ranking) -> Told:
    metrics = [ranking.competitors[name] for name in ranking.metrics]
    if all(one.is_below_nothing for one in metrics):
        return (
            f"This log cannot decide: users prefer what all metrics put last, by {ranking.click}",
            f"All correlations are significantly below noise; the highest is {number(metrics[0].value)}.",
            "Check that the highest grade is the best: else judges and users disagree.",
        )
    ends = [one.together[1] for one in metrics if one.together[1] is not None]
    queries = count(ranking.n_queries)
    ruled_out = (
        f"A correlation above {number(max(*ends, 0.0), 2)} is ruled out by {queries} queries."
        if len(ends) == len(metrics)
        else ""
    )
    return (
        f"This log cannot decide: no metric can be shown to predict {_predicted(ranking)}",
        ruled_out,
        "If smaller correlations are of no use, look at the judgments; else judge more queries.",
    )


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
    """Return the interval in the family; with the p-value where the two tests differ."""
    low, high = lead.together
    if low is None or high is None:
        return "no interval"
    p = f", p {p_text(lead.p_adjusted)} by Holm" if lead.is_significant and low <= 0 <= high else ""
    return f"interval {span(low, high)}{p}"


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
    current, baseline = decision.current, spoken(decision.subject or "")
    return (
        f"{capital(baseline)} alone is significantly better than {current} {PURPOSE[decision.question]}",
        _higher(verdict.claims[0].ranking, decision),
        f"No metric is; what {current} adds to it does not show in these clicks.",
        f"Look at {baseline} next to {current} whenever two rankings are compared.",
    )


def _keep(verdict: Verdict, decision: Decision) -> Told:
    ranking, current = verdict.claims[0].ranking, decision.current or ""
    level = ranking.not_above(current, ranking.baselines)
    own = ranking.competitors[current]
    nothing = "" if own.is_above_nothing else f"{current} itself cannot be shown to predict {ranking.click}."
    return (
        f"Keep {current}: {PURPOSE[decision.question]} {_no_better(decision.bound)}",
        _nearest(decision),
        f"{current} is not significantly better than {all_spoken(level, 'or')} alone." if level else "",
        nothing,
        "Change nothing; run it again when rankings, users or judges change.",
    )


def _nearest(decision: Decision) -> str:
    if decision.other is None or decision.bound is None:
        return ""
    if decision.bound <= 0:
        least = number(math.floor(round(-decision.bound * 1000, 6)) / 1000)
        return f"The nearest, {spoken(decision.other)}, is lower by {least} at least."
    return f"That is the bound of {spoken(decision.other)}. {_margin(decision)}"


def _no_better(bound: float | None) -> str:
    if bound is None:
        return "there is no other metric"
    if bound <= 0:
        return "every other metric is worse"
    return f"nothing is better by more than {_up(bound)}"


def _up(bound: float) -> str:
    """Return a bound with three decimals, rounded up so that it stays one."""
    return number(math.ceil(round(bound * 1000, 6)) / 1000)  # no digit more for rounding


def _margin(decision: Decision) -> str:
    """Say which differences count as none, and what that means."""
    text = f"Differences in correlation below {number(decision.margin, 2)} count as none"
    if decision.question == "queries":
        return f"{text}."
    share = 100 * math.asin(decision.margin) / math.pi
    return f"{text}: {number(share, 1)} of 100 pairs of lists in another order."


def _open(verdict: Verdict, decision: Decision) -> Told:
    """Say what may be better, and what would settle it."""
    ranking = verdict.claims[0].ranking
    by = "" if decision.bound is None else f" by up to {_up(decision.bound)}"
    if decision.current is not None and decision.is_compared:
        what, than, rest = f"whether to leave {decision.current}", "", ""
    else:
        what, than = "which metric to use", f" than {spoken(decision.other or '')}"
        below = tuple(name for name in ranking.metrics if name not in decision.names)
        best = f"Among the best, significantly below none: {few_spoken(decision.names)}."
        rest = f"{best} {_too(below, 'significantly worse')}" if below else ""
    may = f"{spoken(decision.subject or '')} may be better{than}{by}"
    return (
        f"Cannot say {what}: {PURPOSE[decision.question]} {may}",
        _seen(ranking, decision),
        rest,
        _alone(decision),
        _settled(decision),
    )


def _seen(ranking: Ranking, decision: Decision) -> str:
    lead = decision.lead
    if lead is None or lead.value is None:
        return ""
    pair = f"{spoken(decision.subject or '')} minus {spoken(decision.other or '')}"
    what = _NUMBER[decision.question].format(ranking.click)
    return f"In {what}, {pair} is {signed(lead.value)} ({_bounds(lead)})."


def _alone(decision: Decision) -> str:
    """Say what is significant by other click metrics alone."""
    than = decision.other if decision.is_compared else "others among the best"
    texts = [
        f"by {click}, {few_spoken(names)} {'is' if len(names) == 1 else 'are'} better than {than}"
        for click, names in decision.by_others.items()
    ]
    return f"Significantly so only {listed(texts)}." if texts else ""


def _settled(decision: Decision) -> str:
    """Say how many judged queries would bring the largest difference above 0, or below the margin."""
    what = "queries with two judged lists" if decision.question == "rankings" else "judged queries"
    lead = decision.lead
    needed = None if lead is None else _queries_to_settle(lead, decision.margin)
    if lead is None or needed is None:
        return f"Judge more {what}, those that the report names first."
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


def _depends(verdict: Verdict, decision: Decision) -> Told:
    current = decision.current if decision.is_compared else None
    about = "What to use" if current is None else f"Whether to leave {current}"
    each = (
        f"{claim.ranking.click} has {few_spoken(_ahead(claim.ranking, current)) or 'nothing'} ahead"
        for claim in verdict.claims
    )
    of = "" if current is None else f" of {current}"
    return (
        f"{about} depends on the click metric {PURPOSE[decision.question]}",
        f"Significantly{of}, {'; '.join(each)}.",
        "Agree on the click metric that means success here, and name it first.",
    )


def _ahead(ranking: Ranking, current: str | None) -> tuple[str, ...]:
    names = tuple(ranking.competitors)
    return ranking.among_best if current is None else ranking.above(current, names)


# ---- no metric in use -----------------------------------------------------------------------------


def _use(verdict: Verdict, decision: Decision) -> Told:
    ranking, subject = verdict.claims[0].ranking, decision.subject or ""
    own = ranking.competitors[subject]
    what = _NUMBER[decision.question].format(ranking.click)
    text = f"Its {what} is {number(own.value)} ({interval_text(own.estimate)})"
    after = None if decision.other is None else ranking.competitors[decision.other]
    following = "" if after is None else f"; the next, {spoken(after.name)}, has {number(after.value)}"
    return (
        f"Use {subject}: {PURPOSE[decision.question]} it is significantly better than all others",
        f"{text}{following}.",
        *_by_others(verdict, decision),
        f"{_DOING[decision.question]} by {subject}, and name it with --current in the next run.",
    )


def _baseline_as_good(_: Verdict, decision: Decision) -> Told:
    baseline = spoken(decision.subject or "")
    at_least = "no metric is better" if decision.bound is None else _no_better(decision.bound)
    adds = (
        "The order of results adds"
        if decision.subject == "MeanGrade"
        else "What metrics count below the first place adds"
    )
    return (
        f"{capital(baseline)} alone does as well {PURPOSE[decision.question]}: {at_least}",
        f"{adds} nothing that these clicks show. {_margin(decision)}",
        "Keep a metric that also looks further down only if you have another reason to.",
    )


def _use_any(verdict: Verdict, decision: Decision) -> Told:
    ranking = verdict.claims[0].ranking
    below = tuple(name for name in ranking.metrics if name not in decision.names)
    return (
        f"Use any of {all_spoken(decision.names)}: {PURPOSE[decision.question]} they are equal within "
        f"{_up(decision.bound or 0.0)}",
        _too(below, "significantly worse"),
        _margin(decision),
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
